//! Damages a ledger in a thousand ways and checks that the verifier finds each (case 76 of the
//! bad-input list).

use std::path::Path;

use setpoint_ledger::checkpoint::{Checkpoint, Signer};
use setpoint_ledger::merkle::{Tree, leaf_hash};
use setpoint_ledger_verify::verify;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions as _, Connection as _, Executor as _, Row as _};

use crate::scene::{Place, key, origin, signer};
use crate::story;

const MUTATIONS: u64 = 1_000;

/// Pseudo-random numbers, the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % bound as u64) as usize
    }
}

/// Statements that each damage one random row; `?1` is a random number.
const EDITS: &[&str] = &[
    "DELETE FROM records WHERE seq = ?1 % (SELECT count(*) FROM records)",
    "DELETE FROM records WHERE seq >= ?1 % (SELECT count(*) FROM records)",
    "DELETE FROM records WHERE seq <= ?1 % (SELECT count(*) FROM records)",
    "UPDATE records SET bytes = (SELECT bytes FROM records WHERE seq = (?1 + 1) % (SELECT count(*) FROM records))
     WHERE seq = ?1 % (SELECT count(*) FROM records)",
    "INSERT INTO records SELECT log, (SELECT count(*) FROM records), bytes, leaf FROM records
     WHERE seq = ?1 % (SELECT count(*) FROM records)",
    "INSERT INTO records SELECT log, -1 - ?1 % 9, bytes, leaf FROM records WHERE seq = 0",
    "INSERT INTO records SELECT log + 1 + ?1 % 9, seq, bytes, leaf FROM records",
    "UPDATE records SET bytes = CAST(replace(CAST(bytes AS TEXT), '\"time\":17', '\"time\":18') AS BLOB)
     WHERE seq = ?1 % (SELECT count(*) FROM records)",
    "UPDATE records SET bytes = substr(bytes, 1, length(bytes) - 1 - ?1 % 50)
     WHERE seq = ?1 % (SELECT count(*) FROM records)",
    "UPDATE records SET leaf = (SELECT leaf FROM records WHERE seq = (?1 + 1) % (SELECT count(*) FROM records))
     WHERE seq = ?1 % (SELECT count(*) FROM records)",
    "UPDATE records SET bytes = x'' WHERE seq = ?1 % (SELECT count(*) FROM records)",
    "UPDATE claims SET claim = replace(claim, 'web/app-', 'web/bpp-') WHERE key =
     (SELECT key FROM claims ORDER BY key LIMIT 1 OFFSET ?1 % (SELECT count(*) FROM claims))",
    "UPDATE claims SET key = key || 'x' WHERE key =
     (SELECT key FROM claims ORDER BY key LIMIT 1 OFFSET ?1 % (SELECT count(*) FROM claims))",
    "DELETE FROM claims WHERE key =
     (SELECT key FROM claims ORDER BY key LIMIT 1 OFFSET ?1 % (SELECT count(*) FROM claims))",
    "INSERT INTO claims SELECT target, key || 'x' || ?1, log, claim FROM claims LIMIT 1",
    "DELETE FROM intents WHERE id =
     (SELECT id FROM intents ORDER BY id LIMIT 1 OFFSET ?1 % (SELECT count(*) FROM intents))",
    "UPDATE intents SET intent = replace(intent, 'create', 'delete') WHERE id =
     (SELECT id FROM intents ORDER BY id LIMIT 1 OFFSET ?1 % (SELECT count(*) FROM intents))",
    "INSERT INTO intents SELECT log, '9-' || ?1, intent FROM intents LIMIT 1",
    "DELETE FROM apps WHERE app = 'web/app-' || (?1 % 7)",
    "UPDATE apps SET facts = replace(facts, 'sequence\":', 'sequence\":1') WHERE app = 'web/app-' || (?1 % 7)",
    "INSERT INTO apps SELECT log, app || ?1, facts FROM apps LIMIT 1",
    "UPDATE bodies SET bytes = CAST(bytes || x'00' AS BLOB) WHERE bytes IS NOT NULL AND seq >=
     ?1 % (SELECT max(seq) FROM bodies) ",
    "UPDATE bodies SET bytes = NULL, salt = NULL WHERE seq =
     (SELECT seq FROM bodies WHERE bytes IS NOT NULL LIMIT 1 OFFSET ?1 % (SELECT count(bytes) FROM bodies))",
    "UPDATE bodies SET salt = randomblob(32) WHERE seq =
     (SELECT seq FROM bodies WHERE bytes IS NOT NULL LIMIT 1 OFFSET ?1 % (SELECT count(bytes) FROM bodies))",
    "DELETE FROM bodies WHERE seq =
     (SELECT seq FROM bodies LIMIT 1 OFFSET ?1 % (SELECT count(*) FROM bodies))",
    "INSERT INTO bodies SELECT log, seq + 1, salt, bytes FROM bodies LIMIT 1 OFFSET ?1 % (SELECT count(*) FROM bodies)",
    "UPDATE bundles SET bytes = CAST(bytes || x'01' AS BLOB) WHERE ?1 >= 0",
    "DELETE FROM bundles WHERE ?1 >= 0",
    "DELETE FROM checkpoints WHERE number = ?1 % (SELECT count(*) FROM checkpoints)",
    "UPDATE checkpoints SET text = replace(text, 'epoch ', 'epoch 1')
     WHERE number = ?1 % (SELECT count(*) FROM checkpoints)",
    "UPDATE checkpoints SET size = size + 1 WHERE number = ?1 % (SELECT count(*) FROM checkpoints)",
    "UPDATE checkpoints SET text = (SELECT text FROM checkpoints WHERE number = 0)
     WHERE number = 1 + ?1 % ((SELECT count(*) FROM checkpoints) - 1)",
    "UPDATE segments SET root = randomblob(32) WHERE ?1 >= 0",
    "DELETE FROM segments WHERE ?1 >= 0",
    "INSERT INTO segments SELECT log, segment + 1 + ?1 % 9, root FROM segments",
    "UPDATE logs SET epoch = 1 WHERE ?1 >= 0",
    "UPDATE logs SET origin = 'b' WHERE ?1 >= 0",
    "UPDATE logs SET installed = ?1",
    "DELETE FROM logs WHERE ?1 >= 0",
];

async fn connect(path: &Path) -> SqliteConnection {
    let options = SqliteConnectOptions::new().filename(path).disable_statement_logging();
    options.connect().await.expect("the copy opens")
}

/// Damages the copy at `path` once. Returns a description, or `None` if this seed changed no stored
/// data.
async fn damage(path: &Path, older: &Path, dice: &mut Dice) -> Option<String> {
    match dice.below(12) {
        0 => flip_a_record(path, dice).await,
        1 => swap_records(path, dice).await,
        2 => truncate_the_file(path, dice),
        3 => return flip_any_byte(path, dice).await,
        4 => rewrite_history(path, dice, &Signer::new(origin("setpoint.test"), &[8; 32])).await,
        5 => rewrite_history(path, dice, &signer()).await,
        6 => {
            std::fs::copy(older, path).expect("an older copy is restored");
        }
        _ => {
            let edit = EDITS[dice.below(EDITS.len())];
            let mut connection = connect(path).await;
            let argument = dice.below(1 << 20) as i64;
            let done = sqlx::query(edit).bind(argument).execute(&mut connection).await.expect(edit);
            connection.close().await.expect("closed");
            return (done.rows_affected() > 0).then(|| format!("{edit} with {argument}"));
        }
    }
    Some("a mutation of the file".to_owned())
}

async fn records(connection: &mut SqliteConnection) -> Vec<Vec<u8>> {
    sqlx::query_scalar("SELECT bytes FROM records ORDER BY seq").fetch_all(connection).await.expect("records")
}

async fn put_record(connection: &mut SqliteConnection, seq: usize, bytes: &[u8]) {
    // An attacker who rewrites history also rewrites the hashes in the same row.
    let put = sqlx::query("UPDATE records SET bytes = ?, leaf = ? WHERE seq = ?");
    let put = put.bind(bytes).bind(leaf_hash(bytes).as_bytes().to_vec()).bind(seq as i64);
    put.execute(connection).await.expect("updated");
}

async fn flip_a_record(path: &Path, dice: &mut Dice) {
    let mut connection = connect(path).await;
    let mut records = records(&mut connection).await;
    let seq = dice.below(records.len());
    let byte = dice.below(records[seq].len());
    records[seq][byte] ^= 1 << dice.below(8);
    put_record(&mut connection, seq, &records[seq]).await;
    connection.close().await.expect("closed");
}

async fn swap_records(path: &Path, dice: &mut Dice) {
    let mut connection = connect(path).await;
    let records = records(&mut connection).await;
    let one = dice.below(records.len());
    let other = (one + 1 + dice.below(records.len() - 1)) % records.len();
    put_record(&mut connection, one, &records[other]).await;
    put_record(&mut connection, other, &records[one]).await;
    connection.close().await.expect("closed");
}

fn truncate_the_file(path: &Path, dice: &mut Dice) {
    let file = std::fs::OpenOptions::new().write(true).open(path).expect("opened");
    let length = file.metadata().expect("its length").len();
    file.set_len(dice.below(length as usize) as u64).expect("cut");
}

/// Flips a bit anywhere in the file. Unused bytes (free space of a page) are not part of the
/// ledger.
async fn flip_any_byte(path: &Path, dice: &mut Dice) -> Option<String> {
    let before = dump(path).await;
    let mut bytes = std::fs::read(path).expect("read");
    let (place, bit) = (dice.below(bytes.len()), dice.below(8));
    bytes[place] ^= 1 << bit;
    std::fs::write(path, bytes).expect("written");
    (dump(path).await != before).then(|| format!("bit {bit} of byte {place}"))
}

/// Returns all stored data that counts as evidence, or the reason why it cannot be read.
async fn dump(path: &Path) -> Result<Vec<u8>, String> {
    let options = SqliteConnectOptions::new().filename(path).read_only(true).disable_statement_logging();
    let mut connection = options.connect().await.map_err(|error| error.to_string())?;
    let mut content = Vec::new();
    for sql in [
        "SELECT hex(log) || origin || hex(epoch) || coalesce(hex(installed), '') FROM logs",
        "SELECT hex(log) || hex(seq) || hex(bytes) || hex(leaf) FROM records",
        "SELECT hex(log) || hex(segment) || hex(root) FROM segments",
        "SELECT hex(log) || hex(number) || hex(size) || hex(text) FROM checkpoints",
        "SELECT hex(log) || hex(seq) || coalesce(hex(salt), '') || coalesce(hex(bytes), '') FROM bodies",
        "SELECT hex(digest) || hex(bytes) FROM bundles",
        "SELECT target || key || hex(log) || claim FROM claims",
        "SELECT hex(log) || id || intent FROM intents",
        "SELECT hex(log) || app || facts FROM apps",
    ] {
        for row in connection.fetch_all(sql).await.map_err(|error| error.to_string())? {
            content.extend(row.try_get::<Vec<u8>, _>(0).map_err(|error| error.to_string())?);
        }
    }
    Ok(content)
}

/// Rewrites history as an insider could: changes a record, then recomputes every hash and
/// signature.
async fn rewrite_history(path: &Path, dice: &mut Dice, signer: &Signer) {
    let mut connection = connect(path).await;
    let mut records = records(&mut connection).await;
    let seq = dice.below(records.len());
    let forged = String::from_utf8(records[seq].clone()).expect("JSON").replace("\"actor\":\"", "\"actor\":\"m");
    records[seq] = forged.into_bytes();
    put_record(&mut connection, seq, &records[seq]).await;
    let sizes = sqlx::query_scalar("SELECT size FROM checkpoints").fetch_all(&mut connection).await;
    let sizes: Vec<i64> = sizes.expect("sizes");
    let mut tree = Tree::default();
    for bytes in &records {
        if let Some(segment) = tree.push(leaf_hash(bytes)) {
            let update = sqlx::query("UPDATE segments SET root = ? WHERE segment = ?");
            let update = update.bind(&segment.root.as_bytes()[..]).bind(segment.index as i64);
            update.execute(&mut connection).await.expect("updated");
        }
        let size = tree.size();
        if !sizes.contains(&(size as i64)) {
            continue;
        }
        let epoch = if size < records.len() as u64 / 2 { 1 } else { 2 };
        let text = Checkpoint::sign(origin("a"), epoch, size, tree.root(), signer).text;
        let update = sqlx::query("UPDATE checkpoints SET text = ? WHERE size = ?").bind(text).bind(size as i64);
        update.execute(&mut connection).await.expect("updated");
    }
    connection.close().await.expect("closed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn case_76_a_thousand_mutations_of_a_ledger_are_all_found() {
    let place = Place::new();
    let older = place.root.path().join("older.db");
    story::write_half(&place).await;
    std::fs::copy(place.database(), &older).expect("copied");
    story::write(&place).await;
    let anchors = [place.anchor_text()];
    let sound = verify(&place.database(), &anchors, &[key()]).await.expect("it can be judged");
    assert_eq!(sound.findings, [], "before it is damaged it is sound");

    let copy = place.root.path().join("damaged.db");
    let (mut seed, mut damaged) = (0, 0);
    while damaged < MUTATIONS {
        seed += 1;
        std::fs::copy(place.database(), &copy).expect("copied");
        let Some(how) = damage(&copy, &older, &mut Dice(seed)).await else { continue };
        damaged += 1;
        // A ledger that cannot be verified counts as found; only "sound" would be a miss.
        let missed = verify(&copy, &anchors, &[key()]).await.is_ok_and(|report| report.is_sound());
        assert!(!missed, "seed {seed}: {how}");
        for side in ["damaged.db-wal", "damaged.db-shm"] {
            drop(std::fs::remove_file(place.root.path().join(side)));
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn case_76_the_first_bad_record_is_named() {
    for damage in [
        "DELETE FROM records WHERE seq = 321",
        "UPDATE records SET bytes = CAST(replace(CAST(bytes AS TEXT), '\"time\":1', '\"time\":2') AS BLOB) WHERE seq = 321",
        "UPDATE records SET bytes = substr(bytes, 1, length(bytes) - 1) WHERE seq = 321",
        "UPDATE records SET bytes = (SELECT bytes FROM records AS next WHERE seq = 322) WHERE seq = 321",
        "UPDATE records SET bytes = (SELECT bytes FROM records AS next WHERE seq = 322),
         leaf = (SELECT leaf FROM records AS next WHERE seq = 322) WHERE seq = 321",
        "UPDATE records SET leaf = x'00' WHERE seq = 321",
    ] {
        let place = Place::new();
        story::write(&place).await;
        let mut connection = connect(&place.database()).await;
        let done = connection.execute(damage).await.expect(damage);
        assert_eq!(done.rows_affected(), 1, "{damage}");
        connection.close().await.expect("closed");
        let report = verify(&place.database(), &[place.anchor_text()], &[key()]).await.expect("it can be judged");
        let first = report.findings.first().unwrap_or_else(|| panic!("{damage} is not found"));
        assert_eq!(first.seq, Some(321), "{damage}: {first:?}");
    }
}
