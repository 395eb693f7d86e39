import request from 'supertest';
import type { UserRole } from '../../../src/kernel';

/** Host under test that runs the fixture `desk`. */
export interface ContractHost {
  readonly url: string;
  /** Headers of a signed-in user with this role, as a page of the host sends them. */
  signedIn(role: UserRole): Promise<Record<string, string>>;
  withKey(): Record<string, string>;
  close(): Promise<void>;
}

/**
 * The contract for extension routes, verified against the real host and its test double. Pages are compared by status
 * only: the host returns HTML, the double a view and its model.
 */
export function describeRouteContract(name: string, open: () => Promise<ContractHost>): void {
  describe(`Extension route contract on ${name}`, () => {
    let host: ContractHost;
    let member: Record<string, string>;
    beforeAll(async () => {
      host = await open();
      member = await host.signedIn('user');
    });
    afterAll(() => host.close());

    const get = (path: string, headers: Record<string, string> = {}) =>
      request(host.url).get(path).set(headers);
    const post = (path: string, body: object, headers: Record<string, string>) =>
      request(host.url).post(path).set(headers).send(body);

    test('Data returns JSON that is not cached', async () => {
      const { status, headers, body } = await get('/x/desk/data', member);
      expect([status, headers['cache-control']]).toEqual([200, 'no-store']);
      expect(headers['content-type']).toMatch(/^application\/json/);
      expect(body).toMatchObject({ role: 'user', language: 'en' });
    });

    test('a page opens for a signed-in user', async () => {
      expect((await get('/x/desk', member)).status).toBe(200);
    });

    test('returns 401 without a session', async () => {
      const { status, body } = await get('/x/desk/data');
      expect([status, (body as { code: string }).code]).toEqual([401, 'authentication_required']);
    });

    test.each([
      ['user', 403],
      ['org_admin', 200],
      ['platform_owner', 200],
    ] as const)('a page for administrators returns to the role %s the status %i', async (role, expected) => {
      expect((await get('/x/desk/office', await host.signedIn(role))).status).toBe(expected);
    });

    test('accepts a valid form and applies its default', async () => {
      const { status, body } = await post('/x/desk/notes', { title: 'First' }, member);
      expect([status, body]).toEqual([200, { id: expect.any(Number) as number }]);
    });

    test('redirects a browser to the page that the action names', async () => {
      const { status, headers } = await request(host.url)
        .post('/x/desk/notes')
        .set({ ...member, accept: 'text/html' })
        .type('form')
        .send({ title: 'Second', copies: '2' });
      expect([status, headers['location']]).toEqual([303, '/x/desk']);
    });

    test.each([
      ['a text that is too long', { title: 'x'.repeat(21) }, 'title'],
      ['an empty text', { title: ' ' }, 'title'],
      ['a missing text', {}, 'title'],
      ['a number out of range', { title: 'a', copies: 10 }, 'copies'],
      ['a text for a number', { title: 'a', copies: 'many' }, 'copies'],
      ['an unknown field', { title: 'a', colour: 'red' }, 'colour'],
    ])('returns 422 and names the field for %s', async (_what, form, field) => {
      const { status, body } = await post('/x/desk/notes', form, member);
      const { code, detail } = body as { code: string; detail: { loc: string[] }[] };
      expect([status, code]).toEqual([422, 'validation_error']);
      expect(detail.map(({ loc }) => loc)).toEqual([['body', field]]);
    });

    test('returns the status and code of a catalogue error', async () => {
      await post('/x/desk/notes', { title: 'Twice' }, member);
      const { status, body } = await post('/x/desk/notes', { title: 'Twice' }, member);
      expect([status, (body as { code: string }).code]).toEqual([409, 'conflict']);
      expect((await get('/x/desk/notes/4711', member)).status).toBe(404);
    });

    test('returns 500 for an exception without its message', async () => {
      const { status, text } = await post('/x/desk/fail', {}, member);
      expect([status, text]).toEqual([500, expect.not.stringContaining('no desk')]);
    });

    test('refuses a change from another site', async () => {
      const { status, body } = await post(
        '/x/desk/notes',
        { title: 'Forged' },
        { ...member, 'sec-fetch-site': 'cross-site' },
      );
      expect([status, (body as { code: string }).code]).toEqual([403, 'csrf_rejected']);
    });

    test('Csv returns a file with its column names in the first line', async () => {
      const { status, headers, text } = await get('/x/desk/export', member);
      expect([status, headers['content-disposition']]).toEqual([
        200,
        expect.stringMatching(/^attachment; filename="notes/),
      ]);
      expect(text).toMatch(/^title,copies\r\n/);
      expect(text).toContain('First,1\r\n');
    });

    test('redirects a former path', async () => {
      const { status, headers } = await get('/x/desk/old', member);
      expect([status, headers['location']]).toEqual([302, '/x/desk']);
    });

    test('a key route accepts only a valid API key', async () => {
      const { status, body } = await get('/v1/x/desk/status', host.withKey());
      expect([status, body]).toEqual([200, { open: true }]);
      const forgedKeyResponse = await get('/v1/x/desk/status', { authorization: 'Bearer svc_forged' });
      const { error } = forgedKeyResponse.body as { error: { code: string } };
      expect([forgedKeyResponse.status, error.code]).toEqual([401, 'invalid_api_key']);
    });
  });
}
