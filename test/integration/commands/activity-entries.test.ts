import { join } from 'node:path';
import { Ledger, PostgresMoneyStore } from '#product/billing';
import { commands } from '#inside/commands/run-command';
import { uuidv7 } from '#product/kernel';
import { administer } from '../../support/postgres';
import { ScriptedSupplier } from '../../support/scripted-supplier';
import { CommandFixture, type CommandResult } from './command-fixture';

/**
 * Every command with the activity entry it writes; a new command fails this test until it is listed. Change and entry
 * are one transaction, so a refused entry also prevents the change.
 */
interface LoggedCommand {
  readonly words: () => string[] | Promise<string[]>;
  readonly action: string;
  /** The command changes nothing but the activity log. */
  readonly onlyRead?: true;
}

const OTHER_KEY = 'the-master-key-before-0123456789abcdef';
const yaml = (file: string, content: string): string => fixture.file(file, content);
const keyId = async (): Promise<string> => {
  const { output } = await fixture.run(['key', 'create', '--name', 'some', '--organisation', 'acme']);
  return output.slice(4, 12);
};

const loggedCommands: Readonly<Record<string, LoggedCommand>> = {
  apply: {
    words: () => ['apply', yaml('change.yaml', CATALOGUE.replace('Writer', 'Author')), '--yes'],
    action: 'catalogue.imported',
  },
  'import litellm-prices': {
    words: () => [
      'import',
      'litellm-prices',
      yaml(
        'prices.json',
        '{"up": {"litellm_provider": "a", "mode": "chat", "input_cost_per_token": 0.00001, "output_cost_per_token": 0.00002}}',
      ),
      '--apply',
      '--overwrite',
    ],
    action: 'catalogue.imported',
  },
  'import models-dev': {
    words: () => [
      'import',
      'models-dev',
      yaml('api.json', '{"a": {"models": {"up": {"cost": {"input": 17, "output": 20}}}}}'),
      '--apply',
      '--overwrite',
    ],
    action: 'catalogue.imported',
  },
  'key create': {
    words: () => ['key', 'create', '--name', 'made', '--organisation', 'acme'],
    action: 'key.created',
  },
  'key change': { words: async () => ['key', 'change', await keyId(), '--rpm', '5'], action: 'key.changed' },
  'key rotate': { words: async () => ['key', 'rotate', await keyId()], action: 'key.rotated' },
  'key revoke': { words: async () => ['key', 'revoke', await keyId()], action: 'key.revoked' },
  'root-key rotate': { words: () => ['root-key', 'rotate'], action: 'key.rotated' },
  'sign-in-link': { words: () => ['sign-in-link', 'anna@acme.example'], action: 'account.sign-in-link-made' },
  'second-factor reset': {
    words: async () => {
      await fixture.database.query(
        `INSERT INTO second_factor (user_id, secret, enabled_at)
         SELECT id, '\\x00', now() FROM user_account WHERE email = 'anna@acme.example' ON CONFLICT DO NOTHING`,
      );
      return ['second-factor', 'reset', 'anna@acme.example', '--reason', 'lost the phone'];
    },
    action: 'user.second-factor-reset',
  },
  'credentials rewrap': { words: () => ['credentials', 'rewrap'], action: 'credential.rewrapped' },
  'audit:export': {
    words: () => ['audit:export', join(fixture.folder, `${uuidv7()}.jsonl`), '--platform'],
    action: 'log.exported',
    onlyRead: true,
  },
  'audit:breaks': {
    words: async () => {
      const [row] = await fixture.database.query<{ id: number }>(
        "INSERT INTO audit_break (chain, kind, block) VALUES (0, 'edited', 1) RETURNING id",
      );
      return ['audit:breaks', '--examined', String(row?.id), '--conclusion', 'a restore'];
    },
    action: 'log.break-examined',
  },
  'journal:forget': {
    words: async () => ['journal:forget', await createLostNode(), '--yes'],
    action: 'journal.forgotten',
  },
  'extension:drop': {
    words: async () => {
      await administer(
        fixture.test.ownerUrl,
        `INSERT INTO extension_migration (extension, name, digest)
         VALUES ('gone', '001-some.sql', repeat('0', 64)) ON CONFLICT DO NOTHING`,
      );
      return ['extension:drop', 'gone', '--yes'];
    },
    action: 'extension.dropped',
  },
  'money:rerate': {
    words: async () => {
      await insertMispricedRecord();
      return ['money:rerate', '--from', '2026-01-01', '--to', '2100-01-01', '--apply'];
    },
    action: 'billing.rerated',
  },
  'models compare': {
    words: async () => {
      await createOutdatedModel();
      return ['models', 'compare', '--provider', 'told', '--take', 'told', '--lower'];
    },
    action: 'model.changed',
  },
  'tap:replay': {
    words: async () => ['tap:replay', await createDeadLetter(), '--all'],
    action: 'tap.letters-replayed',
  },
  'tap:forget': {
    words: async () => ['tap:forget', await createDeadLetter(), '--yes'],
    action: 'tap.forgotten',
  },
  'alert-channel:add': {
    words: () => Promise.resolve(['alert-channel:add', 'mail', '--name', 'On call']),
    action: 'alert.channel-added',
  },
  'alert-channel:remove': {
    words: async () => {
      await fixture.run(['alert-channel:add', 'mail', '--name', 'Gone']);
      const [row] = await fixture.database.query<{ id: number }>('SELECT max(id) AS id FROM alert_channel');
      return ['alert-channel:remove', String(row!.id)];
    },
    action: 'alert.channel-removed',
  },
  'quarantine begin': {
    words: async () => {
      await fixture.database.query(
        "UPDATE quarantine SET released_at = now(), decisions = '{}', decided_at = now()",
      );
      return ['quarantine', 'begin', '--moment', '2026-01-31T12:00:00Z'];
    },
    action: 'quarantine.begun',
  },
  'quarantine release': {
    words: async () => {
      await fixture.run(['quarantine', 'begin', '--moment', '2026-01-31T12:00:00Z']);
      return ['quarantine', 'release', ...UNCHANGED_DECISIONS, '--yes'];
    },
    action: 'quarantine.decided',
  },
};

const UNCHANGED_DECISIONS = [
  ...['--keys', 'keep', '--journals', 'charge', '--nodes', 'keep', '--payments', 'take'],
  ...['--mails', 'send', '--evaluations', 'run', '--taps', 'replay'],
];

async function createDeadLetter(): Promise<string> {
  const name = `gone/${uuidv7()}`;
  await fixture.database.query("INSERT INTO tap (name, after_xid, after_id) VALUES ($1, '1', 0)", [name]);
  await fixture.database.query(
    "INSERT INTO tap_dead_letter (tap, request_id, created_at, error) VALUES ($1, gen_random_uuid(), now(), 'x')",
    [name],
  );
  return name;
}

const readOnlyCommands: Readonly<Record<string, () => string[]>> = {
  plan: () => ['plan', yaml('plan.yaml', CATALOGUE.replace('Writer', 'Other'))],
  export: () => ['export'],
  'key list': () => ['key', 'list'],
  'key audit': () => ['key', 'audit', 'AAAAAAAA'],
  doctor: () => ['doctor'],
  'config check': () => ['config', 'check'],
  'audit:verify': () => ['audit:verify', join(fixture.folder, 'none.jsonl')],
  'money:verify': () => ['money:verify'],
  'processor:check': () => ['processor:check'],
  'tap:list': () => ['tap:list'],
  'alert-channel:list': () => ['alert-channel:list'],
  'quarantine show': () => ['quarantine', 'show'],
  'extension:list': () => ['extension:list'],
};

const unloggedCommands = {
  'demo:seed': 'fills an empty installation with examples, and no other',
  'database:move': 'copies all entries to another database, and writes none itself',
  backup: 'writes to the target of backups, and takes the log as it is',
  'backup:list': 'reads the target of backups',
  'backup:verify': 'restores aside, and marks the backup at its target',
  'backup:prune': 'removes from the target of backups alone',
  restore: 'writes a new data folder; its first start records that it was restored',
  'extension:new': 'writes a folder of its own and opens no installation',
  'extension:check': 'starts a service on data of its own',
};

const CATALOGUE = `version: 1
providers:
  a: { style: openai-style, base_url: "https://a.example", regions: [eu], api_key: "\${A_SECRET}" }
models:
  writer:
    display_name: Writer
    lanes: [{ provider: a, model: up, region: eu }]
    price: { input: 1, output: 2 }
`;

let fixture: CommandFixture;
let vendor: ScriptedSupplier;
beforeAll(async () => {
  vendor = await ScriptedSupplier.start();
  fixture = await CommandFixture.open();
  Object.assign(fixture.environment, { MASTER_KEY: OTHER_KEY, A_SECRET: 'sk-secret-of-a' });
  await fixture.database.query("INSERT INTO organisation (name, slug) VALUES ('Acme', 'acme')");
  await fixture.database.query(
    "INSERT INTO user_account (email, display_name, status) VALUES ('anna@acme.example', 'Anna', 'active')",
  );
  expect((await fixture.apply(CATALOGUE)).complaint).toBe('');
  fixture.environment['MASTER_KEY'] = `the-current-master-key-0123456789abcde,${OTHER_KEY}`;
  await administer(
    fixture.test.ownerUrl,
    `CREATE FUNCTION refuse_entry() RETURNS trigger LANGUAGE plpgsql AS
     $$ BEGIN RAISE EXCEPTION 'the log takes no entry'; END $$`,
  );
});
afterAll(async () => {
  await vendor.stop();
  await fixture.close();
});

test('every command is listed as logged, read-only or exempt', () => {
  const listedCommands = [
    ...Object.keys(loggedCommands),
    ...Object.keys(readOnlyCommands),
    ...Object.keys(unloggedCommands),
  ];
  expect(listedCommands.toSorted()).toEqual(Object.keys(commands).toSorted());
});

test.each(Object.entries(readOnlyCommands))(
  '%s changes nothing and writes no entry',
  async (_name, words) => {
    const stateBefore = [await digest(), await newestEntry()];
    await fixture.run(words());
    expect([await digest(), await newestEntry()]).toEqual(stateBefore);
  },
);

test.each(Object.entries(loggedCommands))(
  '%s writes its entry, and changes nothing when the entry is refused',
  async (_name, { words, action, onlyRead }) => {
    const args = await words();
    const [before, newest] = [await digest(), await newestEntry()];
    const refusal = await withRefusedEntries(() => fixture.run(args));
    expect(refusal.code).not.toBe(0);
    expect(refusal.complaint).toContain('the log takes no entry');
    expect(await digest()).toBe(before);

    const result = await fixture.run(args);
    expect(result).toMatchObject({ code: 0 });
    if (onlyRead !== true) expect(await digest()).not.toBe(before);
    const entries = await entriesAfter(newest);
    expect(entries.length).toBeGreaterThan(0);
    for (const entry of entries)
      expect(entry).toMatchObject({ action, actor_kind: 'system', actor_label: 'command line' });
    const text = JSON.stringify(entries);
    for (const secret of [fixture.environment['A_SECRET'], OTHER_KEY, ...secretsIn(result)])
      expect(text).not.toContain(secret);
  },
);

const secretsIn = ({ output }: CommandResult): string[] => [
  ...[...output.matchAll(/svc_\w{57}/g)].map(([key]) => key),
  ...[...output.matchAll(/token=(\S+)/g)].map(([, token = '']) => token),
];

interface ActivityEntryRow {
  readonly action: string;
}

async function newestEntry(): Promise<string> {
  const [row] = await fixture.database.query<{ id: string }>(
    'SELECT coalesce(max(id), 0)::text AS id FROM activity',
  );
  return row?.id ?? '0';
}

const entriesAfter = (id: string): Promise<ActivityEntryRow[]> =>
  fixture.database.query<ActivityEntryRow>('SELECT * FROM activity WHERE id > $1 ORDER BY id', [id]);

async function withRefusedEntries(work: () => Promise<CommandResult>): Promise<CommandResult> {
  await administer(
    fixture.test.ownerUrl,
    'CREATE TRIGGER refuse_entry BEFORE INSERT ON activity FOR EACH ROW EXECUTE FUNCTION refuse_entry()',
  );
  try {
    return await work();
  } finally {
    await administer(fixture.test.ownerUrl, 'DROP TRIGGER refuse_entry ON activity');
  }
}

/** Digest of every row of every table except the activity log. */
async function digest(): Promise<string> {
  const tables = await fixture.database.query<{ name: string }>(
    `SELECT quote_ident(relname) AS name FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'
        AND relname NOT LIKE 'activity%' AND has_table_privilege(oid, 'SELECT') ORDER BY relname`,
  );
  const parts = tables.map(
    ({ name }) =>
      `SELECT '${name}' AS name, md5(string_agg(t::text, '|' ORDER BY t::text)) AS rows FROM ${name} t`,
  );
  const [row] = await fixture.database.query<{ digest: string }>(
    `SELECT md5(string_agg(name || coalesce(rows, ''), ',' ORDER BY name)) AS digest FROM (${parts.join(' UNION ALL ')}) every`,
  );
  return row?.digest ?? '';
}

async function annaId(): Promise<number> {
  const [row] = await fixture.database.query<{ id: number }>('SELECT id FROM user_account');
  return row?.id ?? 0;
}

/** Creates a dead node that still holds money of a wallet. */
async function createLostNode(): Promise<string> {
  const store = new PostgresMoneyStore(fixture.database);
  const [node, lease, wallet] = [`lost-${uuidv7()}`, uuidv7(), await annaId()];
  await fixture.database.transaction((tx) =>
    new Ledger(fixture.database).post(tx, {
      walletId: wallet,
      amount: 1_000_000_000n,
      against: 'promotion',
      kind: 'welcome',
      ref: node,
    }),
  );
  await store.beat(lease, node, true, 'gone:/data/journal');
  await store.draw(lease, 1, [{ ref: { kind: 'wallet', id: wallet }, need: 1_500_000n, want: 1_500_000n }]);
  await administer(
    fixture.test.ownerUrl,
    `UPDATE escrow_lease SET expires_at = now() - interval '1 s' WHERE node = '${node}'`,
  );
  return node;
}

/** Inserts a record whose cost does not match its price. */
async function insertMispricedRecord(): Promise<void> {
  await fixture.database.query(
    `INSERT INTO request_record (request_id, created_at, wallet_id, surface, price_id, input_tokens, output_tokens,
       usage_source, cost_nano, status, stream, failover, latency_ms, price_factor)
     SELECT gen_random_uuid(), now(), $1, 'chat', max(id), 1000, 10, 'supplier', 1, 200, false, false, 5, 1000000
       FROM price`,
    [await annaId()],
  );
}

/** Creates a model whose vendor publishes different values. */
async function createOutdatedModel(): Promise<void> {
  vendor.answer = { body: { data: [{ id: 'up', max_input_tokens: 1_000 }] } };
  const { complaint } = await fixture.apply(`version: 1
providers: { told: { style: messages-style, base_url: "${vendor.url}", settings: { anonymous: true } } }
models: { told: { lanes: [{ provider: told, model: up, region: eu }], price: { input: 1, output: 2 } } }
`);
  expect(complaint).toBe('');
  await fixture.database.query(`UPDATE model SET managed = false WHERE name = 'told'`);
}
