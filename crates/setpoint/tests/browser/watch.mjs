// Everything that a browser complains about: errors of scripts, the content security policy, failed
// requests, and requests to other hosts.

import { report } from "./report.mjs";

export class Watch {
  complaints = [];

  constructor(context, origin) {
    context.on("request", (request) => {
      const url = new URL(request.url());
      if (url.origin !== origin && url.protocol !== "data:") this.complain(`a request to another host: ${url}`);
    });
    context.on("requestfailed", (request) => {
      const problem = request.failure()?.errorText;
      // A navigation ends what the page before it still loads.
      if (problem !== "net::ERR_ABORTED") this.complain(`a failed request: ${request.url()}: ${problem}`);
    });
    context.on("response", (response) => {
      const isPage = response.request().isNavigationRequest();
      if (response.status() >= 400 && !isPage) this.complain(`${response.status()} for ${response.url()}`);
    });
    context.on("console", (message) => {
      // The status of the page itself is checked by whoever opens it.
      const isPage = message.location().url === message.page()?.url() && message.text().startsWith("Failed to load");
      if (["error", "warning"].includes(message.type()) && !isPage) this.complain(`console: ${message.text()}`);
    });
    context.on("weberror", (error) => this.complain(`a script failed: ${error.error().message}`));
  }

  complain(text) {
    this.complaints.push(text);
  }

  // Reports the complaints since the last call.
  settle(page) {
    const complaints = this.complaints.splice(0);
    report(page, "the browser has no complaint", complaints.length ? complaints.join("; ") : null);
  }
}
