-- The database of the built-in service. Tests read it as an oracle, so the meaning of each column is stable.
--
-- accounts           one row per user. `templates` counts the account's templates (at most 10,000).
-- projects           the projects of an account; `name` is unique within it.
-- keys               API keys. `project_id` is NULL for an account key.
-- templates          one row per template id. `project` is NULL where an account key created it. `version` is the
--                    newest of template_versions. `name` is the newest name.
-- template_versions  every content that a template ever had, from 1. `content` is the JSON of interface §2.5 as the
--                    service answers it; `request` is the row of `requests` that brought it.
-- current_templates  a view: each template with its newest content.
-- suppressions       one row per record, several per address. `position` orders them and is unique in an account.
-- deletes            how many requests of an account deleted something on a day (UTC).
-- mails              what the service sent. `token` is the last part of the link, `followed` is when it was opened;
--                    `delivery` is `outbox`, `smtp: waiting`, `smtp: sent` or `smtp: <what went wrong>`.
-- requests           every request to the interface in the order of its commit. `http` is the status of
--                    the answer that was decided on, 0 where a fault drops or holds the request instead; `fault` names what was put in the way. Of a body at most
--                    64 KiB are kept, and only of the newest 2,000 requests; `request_bytes` is its whole size.
--                    `notes` lists what the service ignored, one a line.
-- seeds              digests of the seed files that were taken in.
--
-- Times are UTC `YYYY-MM-DD hh:mm:ss`.

CREATE TABLE IF NOT EXISTS accounts (
    user_id          INTEGER PRIMARY KEY,
    email            TEXT NOT NULL UNIQUE,
    emails_by_period INTEGER NOT NULL,
    templates        INTEGER NOT NULL DEFAULT 0
);

CREATE TABLE IF NOT EXISTS projects (
    project_id TEXT PRIMARY KEY,
    user_id    INTEGER NOT NULL REFERENCES accounts,
    name       TEXT NOT NULL,
    UNIQUE (user_id, name)
);

CREATE TABLE IF NOT EXISTS keys (
    key        TEXT PRIMARY KEY,
    user_id    INTEGER NOT NULL REFERENCES accounts,
    project_id TEXT REFERENCES projects
);

CREATE TABLE IF NOT EXISTS templates (
    id      TEXT PRIMARY KEY,
    user_id INTEGER NOT NULL,
    project TEXT,
    name    TEXT NOT NULL,
    version INTEGER NOT NULL,
    created TEXT NOT NULL,
    changed TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS template_versions (
    template TEXT NOT NULL,
    version  INTEGER NOT NULL,
    at       TEXT NOT NULL,
    request  INTEGER NOT NULL,
    content  TEXT NOT NULL,
    UNIQUE (template, version)
);

CREATE VIEW IF NOT EXISTS current_templates AS
    SELECT t.id, t.user_id, t.project, t.name, t.version, t.created, t.changed, v.content
    FROM templates t JOIN template_versions v ON v.template = t.id AND v.version = t.version;

CREATE TABLE IF NOT EXISTS suppressions (
    id           INTEGER PRIMARY KEY,
    user_id      INTEGER NOT NULL,
    project_id   TEXT,
    email        TEXT NOT NULL COLLATE NOCASE,
    reason       TEXT NOT NULL,
    source       TEXT NOT NULL,
    created      TEXT NOT NULL,
    position     TEXT NOT NULL,
    is_deletable INTEGER NOT NULL,
    UNIQUE (user_id, position)
);
CREATE INDEX IF NOT EXISTS suppressions_by_email ON suppressions (user_id, email);

CREATE TABLE IF NOT EXISTS deletes (
    user_id INTEGER NOT NULL,
    day     TEXT NOT NULL,
    deleted INTEGER NOT NULL,
    PRIMARY KEY (user_id, day)
);

CREATE TABLE IF NOT EXISTS mails (
    id         INTEGER PRIMARY KEY,
    at         TEXT NOT NULL,
    user_id    INTEGER NOT NULL,
    project_id TEXT,
    sender     TEXT NOT NULL,
    recipient  TEXT NOT NULL COLLATE NOCASE,
    subject    TEXT NOT NULL,
    html       TEXT NOT NULL,
    plaintext  TEXT NOT NULL,
    token      TEXT NOT NULL UNIQUE,
    followed   TEXT,
    delivery   TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS mails_by_recipient ON mails (user_id, recipient, at);

CREATE TABLE IF NOT EXISTS requests (
    id            INTEGER PRIMARY KEY,
    at            TEXT NOT NULL,
    method        TEXT NOT NULL,
    path          TEXT NOT NULL,
    user_id       INTEGER,
    project_id    TEXT,
    http          INTEGER NOT NULL,
    code          TEXT,
    fault         TEXT,
    micros        INTEGER NOT NULL,
    request_bytes INTEGER NOT NULL,
    request       BLOB,
    answer        BLOB,
    notes         TEXT NOT NULL
);

CREATE TABLE IF NOT EXISTS seeds (
    digest TEXT PRIMARY KEY
);
