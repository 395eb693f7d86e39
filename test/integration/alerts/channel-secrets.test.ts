import type { Person } from '../admin/portal-fixture';
import { AlertFixture, MINUTE_MS, ALERTS_PATH } from './alert-fixture';

/*
 * "The sealed address of an alert channel or HTTP tap comes out again when a receiver repeats its path: on the page,
 * in the sealed audit log, in the log. Test messages are not limited; refusals tell organisation administrators what an
 * internal name resolves to; ALERT_ALLOW is one list for platform and customers."
 */
let fixture: AlertFixture;
let platformOwner: Person;
beforeAll(async () => {
  fixture = await AlertFixture.open();
  platformOwner = await fixture.portal.person('platform_owner');
});
afterAll(() => fixture.close());
beforeEach(() => fixture.receivers.clear());

const sendTest = (person: Person, id: number) =>
  fixture.portal.post(person, `${ALERTS_PATH}/channels/${id}/test`);
/** Every stored text about deliveries and tests, and the channels page. */
const visibleTexts = async (person: Person): Promise<string> => {
  const rows = await fixture.query<{ text: string }>(
    `SELECT row_to_json(t)::text AS text FROM (SELECT last_error FROM alert_channel) t
     UNION ALL SELECT row_to_json(t)::text FROM (SELECT last_error FROM alert_delivery) t
     UNION ALL SELECT row_to_json(a)::text FROM activity a WHERE action LIKE 'alert.%'`,
  );
  const { text } = await fixture.portal.get(person, `${ALERTS_PATH}/channels`);
  return [...rows.map((row) => row.text), text].join('\n');
};

const PATH_SECRET = 'S3cretT0ken+ours';

test.each<[string, (address: URL) => string]>([
  ['complete', ({ href }) => `no such hook: ${href}`],
  ['as a path with a query', ({ pathname, search }) => `Cannot POST ${pathname}${search}`],
  [
    'in JSON with escaped slashes',
    ({ pathname }) => `{"error":"${pathname.replaceAll('/', '\\/')} is unknown"}`,
  ],
  ['percent-encoded', ({ pathname }) => `unknown: ${encodeURIComponent(pathname)}`],
  ['one segment of the path', ({ pathname }) => `unknown token ${pathname.split('/').at(-1)}`],
  ['one value of the query, decoded', ({ searchParams }) => `bad signature ${searchParams.get('sig')}`],
  ['in small letters', ({ pathname }) => `unknown: ${pathname.toLowerCase()}`],
  ['across the end of a shortened text', ({ pathname }) => `${'x'.repeat(280)} ${pathname}`],
])('an address repeated by its receiver is redacted everywhere (%s)', async (_, spell) => {
  const url = `${fixture.receivers.origin}/hooks/B0000-${PATH_SECRET}?sig=${encodeURIComponent(PATH_SECRET)}`;
  const id = await fixture.createChannel(platformOwner, 'slack', { url });
  fixture.receivers.override = () => ({ status: 404, body: spell(new URL(url)) });

  await createAdministrator();
  const { body } = await sendTest(administrator, await createOwnChannel(url));
  expect(body).toMatchObject({ ok: false, answer: expect.stringContaining('HTTP 404') as string });
  await fixture.reportDisk(0.04, `node-${id}`);
  await fixture.poll(MINUTE_MS);
  const [delivery] = await fixture.query<{ last_error: string }>(
    'SELECT last_error FROM alert_delivery WHERE channel_id = $1',
    [id],
  );
  expect(delivery?.last_error).toContain('HTTP 404');

  const allTexts = `${JSON.stringify(body)}\n${await visibleTexts(platformOwner)}`.toLowerCase();
  for (const part of ['s3crett0ken', 'b0000', PATH_SECRET.toLowerCase()])
    expect(allTexts).not.toContain(part);
  await fixture.query('DELETE FROM alert_channel');
  await fixture.query('DELETE FROM alert');
  await fixture.query('DELETE FROM node_state');
});

/** Administrator of a new organisation. */
let administrator: Person;
async function createAdministrator(): Promise<Person> {
  return (administrator = await fixture.portal.person('org_admin', {
    organisationId: await fixture.portal.organisation(),
  }));
}
const createOwnChannel = (url: string): Promise<number> =>
  fixture.createChannel(administrator, 'slack', { url });

test('an owner can send five test messages per minute', async () => {
  const [one, other] = [await createAdministrator(), await createAdministrator()];
  administrator = one;
  const id = await createOwnChannel(fixture.receivers.url('slack'));
  for (let count = 0; count < 5; count += 1)
    expect((await sendTest(one, id)).body).toMatchObject({ ok: true });
  const { status, body } = await sendTest(one, id);
  expect([status, body]).toMatchObject([429, { code: 'rate_limit_exceeded' }]);
  expect(fixture.receivers.acceptedBy('slack')).toHaveLength(5);

  administrator = other;
  const otherChannel = await createOwnChannel(fixture.receivers.url('slack'));
  expect((await sendTest(other, otherChannel)).body).toMatchObject({ ok: true });
});

test('an error does not reveal what an internal name resolves to', async () => {
  const strictFixture = await AlertFixture.open({
    environment: { ALERT_ALLOW: '', ORGANISATION_ALERT_ALLOW: '' },
  });
  try {
    const owner = await strictFixture.fixture.person('org_admin', {
      organisationId: await strictFixture.fixture.organisation(),
    });
    const channel = await strictFixture.createChannel(owner, 'slack', { url: 'https://localhost/hook' });
    const { body } = await strictFixture.fixture.post(owner, `${ALERTS_PATH}/channels/${channel}/test`);
    expect(body).toEqual({ ok: false, id: channel, answer: 'this address is not allowed' });
  } finally {
    await strictFixture.close();
  }

  // A failed connection inside an allowed network reveals nothing either.
  await createAdministrator();
  const unreachableChannel = await createOwnChannel('http://127.0.0.1:9/hook');
  const { body } = await sendTest(administrator, unreachableChannel);
  expect(body).toMatchObject({ ok: false, answer: 'the receiver cannot be reached (ECONNREFUSED)' });
});

test.each([
  ['platform', { ALERT_ALLOW: '127.0.0.1/32', ORGANISATION_ALERT_ALLOW: '' }],
  ['organisation', { ALERT_ALLOW: '', ORGANISATION_ALERT_ALLOW: '127.0.0.1/32' }],
])(
  'private networks are allowed separately for the platform and organisations (%s)',
  async (allowed, environment) => {
    const splitFixture = await AlertFixture.open({ environment });
    try {
      const owners = {
        platform: await splitFixture.fixture.person('platform_owner'),
        organisation: await splitFixture.fixture.person('org_owner', {
          organisationId: await splitFixture.fixture.organisation(),
        }),
      };
      for (const [kind, owner] of Object.entries(owners)) {
        const { status } = await splitFixture.fixture.post(owner, `${ALERTS_PATH}/channels/create`, {
          ...{ kind: 'slack', name: kind, least_severity: 'info', url: splitFixture.receivers.url('slack') },
        });
        expect([kind, status]).toEqual([kind, kind === allowed ? 200 : 422]);
      }
    } finally {
      await splitFixture.close();
    }
  },
);
