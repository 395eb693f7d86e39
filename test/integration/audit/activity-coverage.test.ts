import { RequestMethod } from '@nestjs/common';
import { METHOD_METADATA, PATH_METADATA } from '@nestjs/common/constants';
import { DiscoveryService, MetadataScanner } from '#inside/boot/packages';
import type { ActionName } from '../../../src/audit';
import { RepeatingJobs } from '#product/platform';
import type { AuditRule } from '../../../src/web';
import { startTestApp, type TestApp } from '../../support/app';

/** Routes that change data without an entry, each with its reason; every other changing route promises one. */
const routesWithoutEntry: readonly string[] = [
  // Model calls have request records, which also cover stored responses.
  'POST /v1/audio/speech',
  'POST /v1/audio/transcriptions',
  'POST /v1/audio/translations',
  'POST /v1/chat/completions',
  'POST /v1/completions',
  'POST /v1/embeddings',
  'POST /v1/images/generations',
  'POST /v1/messages',
  'POST /v1/messages/count_tokens',
  'POST /v1/moderations',
  'POST /v1/native/responses',
  'POST /v1/rerank',
  'POST /v1/responses',
  'POST /v2/rerank',
  'DELETE :response_id',
  // The inbox stores messages of the payment processor; their effects are logged when applied.
  'POST /api/billing/processor/webhook',
];

/** Jobs of the service with the entry they write, or the reason for none. */
const jobEntries: Readonly<Record<string, ActionName | { readonly none: string }>> = {
  accounts: { none: 'links, tokens and sessions whose time was over go; they opened nothing any more' },
  activity: 'log.forgotten',
  'alert-deliveries': { none: 'messages about what is so; each has its row on the page of its alert' },
  alerts: { none: 'alerts are a log of their own' },
  'automatic-top-ups': 'billing.topped-up',
  'audit-breaks': { none: 'mails about what the log itself has on record' },
  'autorouter-sessions': { none: 'what the gateway remembers of a conversation for an hour' },
  'autorouter-state': { none: 'sums of what was learned are no change by a person' },
  'billing-alerts': { none: 'mails about what others changed' },
  conversations: 'conversation.expired',
  'ended-promotions': { none: 'the grant says when it ends; the ledger has what was posted back' },
  evaluation: { none: 'texts of samples go within days of being judged, as the settings on record say' },
  'former-invoices': { none: 'the change of the billing type is on record; the ledger has what followed' },
  'host-proofs': 'organisation.domain-proven',
  'idempotent-answers': { none: 'answers are kept for a day' },
  incidents: { none: 'incidents are a log of their own' },
  'kept-responses': { none: 'answers are kept as long as their caller asked' },
  partitions: 'log.requests-forgotten',
  'personal-notices': { none: 'mails about what others changed' },
  'poll-automatic-top-ups': 'billing.topped-up',
  'poll-checkouts': 'billing.topped-up',
  'poll-processor-events': { none: 'the inbox keeps what the processor told, as for its webhook' },
  promotions: { none: 'the grant says when it ends' },
  'stored-ids': { none: 'ids of content that suppliers no longer keep' },
  taps: {
    none: 'requests and charges stay; the page, the log and a metric tell of entries that left a full backlog',
  },
  'token-events': { none: 'events of tokens are a log of their own' },
  'usage-days': { none: 'sums of records that are there' },
  'verify-audit': 'log.break-found',
  'verify-money': { none: 'it only reads' },
  'wallet-handovers': { none: 'the merge is on record; the ledger has the money that followed' },
};

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp({ environment: { RECORD_RETENTION_MONTHS: '2' } });
});
afterAll(() => app.close());

test('every changing route promises an entry or gives a reason for none', () => {
  const routes = changingRoutes();
  expect(routes.length).toBeGreaterThan(130);
  const undeclaredRoutes = routes.filter(({ rule }) => rule === undefined).map(({ name }) => name);
  expect(undeclaredRoutes.toSorted()).toEqual(routesWithoutEntry.toSorted());
  for (const { rule } of routes)
    if (typeof rule === 'object' && 'none' in rule) expect(rule.none.length).toBeGreaterThan(15);
});

test('every job is listed with its entry or a reason for none', () => {
  const { names } = app.application.get(RepeatingJobs, { strict: false });
  expect(names.toSorted()).toEqual(Object.keys(jobEntries).toSorted());
});

test('retention of request records and conversations writes one entry, only when something was deleted', async () => {
  const jobs = app.application.get(RepeatingJobs, { strict: false });
  await jobs.run('partitions');
  await jobs.run('conversations');
  expect(await retentionEntries()).toEqual([]);

  await app.database.query("SELECT ensure_request_record_partitions('2020-01-01'::date, 1)");
  await app.database.query(`
    WITH o AS (INSERT INTO organisation (name, slug) VALUES ('Acme', 'acme') RETURNING id),
         r AS (INSERT INTO conversation_retention (organisation_id, days) SELECT id, 7 FROM o),
         u AS (INSERT INTO user_account (email, display_name, organisation_id)
               SELECT 'anna@acme.example', 'Anna', id FROM o RETURNING id)
    INSERT INTO conversation (user_id, model, updated_at)
      SELECT id, 'm', now() - make_interval(days => d) FROM u, unnest('{8, 9, 6}'::integer[]) d`);
  await app.database.query(
    "INSERT INTO conversation_message (conversation_id, role, model) SELECT id, 'user', 'm' FROM conversation",
  );
  for (const name of ['partitions', 'conversations', 'partitions', 'conversations']) await jobs.run(name);
  const [acme] = await app.database.query<{ id: number }>("SELECT id FROM organisation WHERE slug = 'acme'");
  expect(await retentionEntries()).toEqual([
    {
      action: 'log.requests-forgotten',
      organisation_id: null,
      changes: { months: [expect.arrayContaining(['request_record_202001']), null] },
    },
    {
      action: 'conversation.expired',
      organisation_id: acme?.id,
      changes: { conversations: [2, null] },
    },
  ]);
});

const retentionEntries = (): Promise<unknown[]> =>
  app.database.query(
    "SELECT action, organisation_id, changes FROM activity WHERE actor_label = 'retention' ORDER BY id",
  );

interface ChangingRoute {
  readonly name: string;
  readonly rule: AuditRule | undefined;
}

function changingRoutes(): ChangingRoute[] {
  const scanner = new MetadataScanner();
  return app.application
    .get(DiscoveryService, { strict: false })
    .getControllers()
    .flatMap(({ metatype }) => {
      const prototype = (metatype as { prototype: Record<string, unknown> } | null)?.prototype;
      if (prototype === undefined) return [];
      return scanner.getAllMethodNames(prototype).flatMap((method): ChangingRoute[] => {
        const handler = prototype[method];
        if (typeof handler !== 'function') return [];
        const verb = Reflect.getMetadata(METHOD_METADATA, handler) as RequestMethod | undefined;
        if (verb === undefined || verb === RequestMethod.GET || verb === RequestMethod.HEAD) return [];
        const paths = [Reflect.getMetadata(PATH_METADATA, handler)].flat() as string[];
        const rule = Reflect.getMetadata('switchboard:audit', handler) as AuditRule | undefined;
        return paths.map((path) => ({ name: `${RequestMethod[verb]} ${path}`, rule }));
      });
    });
}
