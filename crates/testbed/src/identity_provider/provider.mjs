// A real OpenID Connect provider on this machine, for tests. Its argument is JSON: `clients` as the
// package oidc-provider takes them, and `people` by subject, each with a name and groups. A person
// signs in with the subject and any password. It prints its issuer, and ends with its input.

import { createServer } from 'node:http';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const packages = process.env.NODE_PACKAGES;
const { Provider } = await import(pathToFileURL(join(packages, 'oidc-provider/lib/index.js')));
const { clients, people } = JSON.parse(process.argv[2]);

const configuration = {
  clients,
  claims: { openid: ['sub'], profile: ['preferred_username'], groups: ['groups'] },
  scopes: ['openid', 'profile', 'groups'],
  // A client that forgets the challenge is refused.
  pkce: { required: () => true },
  findAccount: (_, subject) => people[subject] && {
    accountId: subject,
    claims: () => ({ sub: subject, preferred_username: people[subject].name, groups: people[subject].groups }),
  },
};

const server = createServer();
server.listen(0, '127.0.0.1', () => {
  const issuer = `http://127.0.0.1:${server.address().port}`;
  server.on('request', new Provider(issuer, configuration).callback());
  console.log(issuer);
});
process.stdin.on('end', () => process.exit());
process.stdin.resume();
