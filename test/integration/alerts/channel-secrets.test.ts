import type { Person } from '../admin/house';
import { AlertHouse, MINUTE, PATH } from './alert-house';

/*
 * "The sealed address of an alert channel or HTTP tap comes out again when a receiver repeats its path: on the page,
 * in the sealed audit log, in the log. Test messages are not limited; refusals tell organisation administrators what an
 * internal name resolves to; ALERT_ALLOW is one list for platform and customers."
 */
let house: AlertHouse;
let platform: Person;
beforeAll(async () => {
  house = await AlertHouse.open();
  platform = await house.house.person('platform_owner');
});
afterAll(() => house.close());
beforeEach(() => house.receivers.clear());

const sendTest = (person: Person, id: number) => house.house.post(person, `${PATH}/channels/${id}/test`);
/** Everything that is stored about deliveries and tests, and shown on the page of channels. */
const textsOf = async (person: Person): Promise<string> => {
  const rows = await house.query<{ text: string }>(
    `SELECT row_to_json(t)::text AS text FROM (SELECT last_error FROM alert_channel) t
     UNION ALL SELECT row_to_json(t)::text FROM (SELECT last_error FROM alert_delivery) t
     UNION ALL SELECT row_to_json(a)::text FROM activity a WHERE action LIKE 'alert.%'`,
  );
  const { text } = await house.house.get(person, `${PATH}/channels`);
  return [...rows.map((row) => row.text), text].join('\n');
};

const SECRET = 'S3cretT0ken+ours';

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
])('an address that its receiver repeats appears nowhere (%s)', async (_, spell) => {
  const url = `${house.receivers.origin}/hooks/B0000-${SECRET}?sig=${encodeURIComponent(SECRET)}`;
  const id = await house.channel(platform, 'slack', { url });
  house.receivers.trouble = () => ({ status: 404, body: spell(new URL(url)) });

  await newAdministrator();
  const { body } = await sendTest(administrator, await ownChannel(url));
  expect(body).toMatchObject({ ok: false, answer: expect.stringContaining('HTTP 404') as string });
  await house.disk(0.04, `node-${id}`);
  await house.pass(MINUTE);
  const [delivery] = await house.query<{ last_error: string }>(
    'SELECT last_error FROM alert_delivery WHERE channel_id = $1',
    [id],
  );
  expect(delivery?.last_error).toContain('HTTP 404');

  const told = `${JSON.stringify(body)}\n${await textsOf(platform)}`.toLowerCase();
  for (const part of ['s3crett0ken', 'b0000', SECRET.toLowerCase()]) expect(told).not.toContain(part);
  await house.query('DELETE FROM alert_channel');
  await house.query('DELETE FROM alert');
  await house.query('DELETE FROM node_state');
});

/** The administrator of an organisation of their own. */
let administrator: Person;
async function newAdministrator(): Promise<Person> {
  return (administrator = await house.house.person('org_admin', {
    organisationId: await house.house.organisation(),
  }));
}
const ownChannel = (url: string): Promise<number> => house.channel(administrator, 'slack', { url });

test('an owner sends at most five test messages in a minute', async () => {
  const [one, other] = [await newAdministrator(), await newAdministrator()];
  administrator = one;
  const id = await ownChannel(house.receivers.url('slack'));
  for (let count = 0; count < 5; count += 1)
    expect((await sendTest(one, id)).body).toMatchObject({ ok: true });
  const { status, body } = await sendTest(one, id);
  expect([status, body]).toMatchObject([429, { code: 'rate_limit_exceeded' }]);
  expect(house.receivers.of('slack')).toHaveLength(5);

  administrator = other;
  const theirs = await ownChannel(house.receivers.url('slack'));
  expect((await sendTest(other, theirs)).body).toMatchObject({ ok: true });
});

test('a refusal does not say what an internal name resolves to', async () => {
  const strict = await AlertHouse.open({ environment: { ALERT_ALLOW: '', ORGANISATION_ALERT_ALLOW: '' } });
  try {
    const owner = await strict.house.person('org_admin', {
      organisationId: await strict.house.organisation(),
    });
    const channel = await strict.channel(owner, 'slack', { url: 'https://localhost/hook' });
    const { body } = await strict.house.post(owner, `${PATH}/channels/${channel}/test`);
    expect(body).toEqual({ ok: false, id: channel, answer: 'this address is not allowed' });
  } finally {
    await strict.close();
  }

  // Neither does a connection that fails inside an allowed network.
  await newAdministrator();
  const unreachable = await ownChannel('http://127.0.0.1:9/hook');
  const { body } = await sendTest(administrator, unreachable);
  expect(body).toMatchObject({ ok: false, answer: 'the receiver cannot be reached (ECONNREFUSED)' });
});

test.each([
  ['platform', { ALERT_ALLOW: '127.0.0.1/32', ORGANISATION_ALERT_ALLOW: '' }],
  ['organisation', { ALERT_ALLOW: '', ORGANISATION_ALERT_ALLOW: '127.0.0.1/32' }],
])('private networks are allowed for each kind of owner separately (%s)', async (allowed, environment) => {
  const split = await AlertHouse.open({ environment });
  try {
    const owners = {
      platform: await split.house.person('platform_owner'),
      organisation: await split.house.person('org_owner', {
        organisationId: await split.house.organisation(),
      }),
    };
    for (const [kind, owner] of Object.entries(owners)) {
      const { status } = await split.house.post(owner, `${PATH}/channels/create`, {
        ...{ kind: 'slack', name: kind, least_severity: 'info', url: split.receivers.url('slack') },
      });
      expect([kind, status]).toEqual([kind, kind === allowed ? 200 : 422]);
    }
  } finally {
    await split.close();
  }
});
