import { type Client, expect, expectStatus, jsonOf } from '../operations/http';
import type { PortalUser, World } from '../operations/world';
import { servedPages } from '../../test/system/routes';
import { openStream } from './open-stream';

/** A row of the list of threats: throws if it does not hold, otherwise returns what was observed. */
export interface ThreatRow {
  readonly row: string;
  readonly prove: (world: World) => Promise<string>;
}

const CHAT_PATH = '/v1/chat/completions';
const MAX_CUT_MS = 5_000;
/** A script name that must never appear unescaped on a page. */
const PAYLOAD = '<img src=x onerror=alert(1)>"\'><script>alert(2)</script>';
const chatOptions = (content: string, more: object = {}) => ({
  json: { model: 'sim-small', messages: [{ role: 'user', content }], ...more },
});
const asPage = { headers: { accept: 'text/html' } };

async function keyOf(world: World, limits: object): Promise<Client> {
  const answer = await world.rootKey.post('/v1/manage/keys', { json: { name: 'row', ...limits } });
  expectStatus(answer, 200);
  return world.anonymous.with({ authorization: `Bearer ${String(jsonOf(answer)['key'])}` });
}

async function conversationOf({ client }: PortalUser, title = 'row'): Promise<string> {
  const answer = await client.post('/api/conversations', { json: { model: 'sim-small', title } });
  expectStatus(answer, 200);
  return String(jsonOf(answer)['id']);
}

const pathsOf = async ({ url }: World): Promise<string[]> =>
  (await servedPages(url)).filter((path) => !path.includes('{'));

const keyRows: readonly ThreatRow[] = [
  {
    row: '36 a key that is revoked during a stream: cut, told, charged up to there',
    prove: async (world) => {
      const { client, publicId } = await world.newKey(await world.newPerson());
      const stream = await openStream(
        world.url,
        client,
        chatOptions('[[tokens=400]] [[pace=100]]', { stream: true }).json,
      );
      expectStatus(await world.rootKey.delete(`/v1/manage/keys/${publicId}`), 200);
      const { milliseconds, text } = await stream.ended();
      expect(milliseconds < MAX_CUT_MS, `the stream went on for ${milliseconds} ms`);
      expect(text.includes('stream_interrupted'), `the end says why: ${text.slice(-300)}`);
      expectStatus(await client.get('/v1/key'), 401);
      return `cut after ${Math.round(milliseconds)} ms`;
    },
  },
  {
    row: '37 root keys ask no model, client keys manage nothing',
    prove: async (world) => {
      expectStatus(await world.rootKey.post(CHAT_PATH, chatOptions('hello')), 403, 'forbidden');
      expectStatus(await world.key.get('/v1/manage/keys'), 403, 'forbidden');
      expectStatus(await world.key.post('/v1/manage/keys', { json: { name: 'x' } }), 403, 'forbidden');
      return '3 refused';
    },
  },
  {
    row: '38 the key of the web chat chats, and nothing else',
    prove: async (world) => {
      const issued = jsonOf(await (await world.newPerson()).client.post('/api/webchat-key'));
      const client = world.anonymous.with({ authorization: `Bearer ${String(issued['key'])}` });
      expectStatus(await client.post(CHAT_PATH, chatOptions('hello')), 200);
      const otherPaths = ['/v1/models', '/v1/key', '/v1/usage', '/v1/generations/0'];
      for (const path of otherPaths) expectStatus(await client.get(path), 403, 'webchat_key_scope');
      for (const path of ['/v1/embeddings', '/v1/messages', '/v1/responses']) {
        expectStatus(await client.post(path, chatOptions('hello')), 403, 'webchat_key_scope');
      }
      return `${otherPaths.length + 3} other routes refused`;
    },
  },
  {
    row: '39 models outside of the list are refused, and auto never leads to one',
    prove: async (world) => {
      const client = await keyOf(world, { allowed_models: ['sim-small'] });
      expectStatus(await client.post(CHAT_PATH, chatOptions('hello')), 200);
      expectStatus(
        await client.post(CHAT_PATH, chatOptions('hello', { model: 'sim-large' })),
        403,
        'model_not_allowed',
      );
      const autoResponse = await client.post(CHAT_PATH, chatOptions('hello', { model: 'auto' }));
      expectStatus(autoResponse, 200);
      expect(
        jsonOf(autoResponse)['model'] === 'sim-small',
        `auto led to ${String(jsonOf(autoResponse)['model'])}`,
      );
      const listedModels = jsonOf(await client.get('/v1/models'))['data'] as { id: string }[];
      expect(listedModels.map(({ id }) => id).join() === 'sim-small', 'others are not even listed');
      return 'refused, and not listed';
    },
  },
  {
    row: '40 a region that cannot be met is no request at all',
    prove: async (world) => {
      const client = await keyOf(world, {});
      expectStatus(
        await client.post(CHAT_PATH, chatOptions('hello', { region: 'eu-nowhere' })),
        400,
        'invalid_request',
      );
      return 'refused';
    },
  },
];

const pageRows: readonly ThreatRow[] = [
  {
    row: '53 no page is framed, sniffed or kept where it is private',
    prove: async (world) => {
      const { client } = await world.newPerson({ role: 'platform_owner' });
      const paths = await pathsOf(world);
      for (const path of paths) {
        const { headers, status } = await client.get(path, asPage);
        const headerOf = (name: string): string => headers.get(name) ?? '';
        expect(
          headerOf('content-security-policy').includes("frame-ancestors 'none'"),
          `${path} may be framed`,
        );
        expect(headerOf('x-content-type-options') === 'nosniff', `${path} may be sniffed`);
        expect(headerOf('referrer-policy') !== '', `${path} says nothing of referrers`);
        const isStored =
          path.startsWith('/dashboard') && status < 400 && !headerOf('cache-control').includes('no-store');
        expect(!isStored, `${path} may be kept: ${headerOf('cache-control')}`);
      }
      return `${paths.length} pages`;
    },
  },
  {
    row: '60 conversations of others are not there; one that is deleted in a turn is gone',
    prove: async (world) => {
      const [owner, other] = [await world.newPerson(), await world.newPerson()];
      const id = await conversationOf(owner);
      for (const path of [`/dashboard/webchat/${id}`, `/dashboard/webchat/${id}/export`]) {
        expectStatus(await other.client.get(path, asPage), 404);
      }
      expectStatus(await other.client.post(`/api/chat/${id}`, { json: { content: 'x' } }), 404);
      expectStatus(await other.client.delete(`/api/conversations/${id}`), 404);
      const turn = owner.client.post(`/api/chat/${id}`, { json: { content: '[[tokens=100]] [[pace=40]]' } });
      await new Promise((resolve) => setTimeout(resolve, 300));
      expectStatus(await owner.client.delete(`/api/conversations/${id}`), 200);
      expect((await turn).status < 500, 'the turn that ran ends without a failure of ours');
      expectStatus(await owner.client.get(`/dashboard/webchat/${id}`, asPage), 404);
      return 'absent for others, and after the deletion';
    },
  },
  {
    row: '71 markup in names is text on every page',
    prove: async (world) => {
      const owner = await world.newPerson({ role: 'platform_owner', displayName: PAYLOAD });
      await world.rows('UPDATE organisation SET name = $1 WHERE id = $2', [
        PAYLOAD,
        world.otherOrganisationId,
      ]);
      await world.newKey(owner, PAYLOAD);
      const id = await conversationOf(owner, PAYLOAD);
      await owner.client.post(`/api/chat/${id}`, { json: { content: `${PAYLOAD} [[echo=${PAYLOAD}]]` } });
      expectStatus(
        await owner.client.post('/dashboard/toggle-admin-mode', { json: { admin_mode: 'on' } }),
        200,
      );
      const paths = [
        ...(await pathsOf(world)),
        `/dashboard/webchat/${id}`,
        `/absent/${encodeURIComponent(PAYLOAD)}`,
      ];
      let shownCount = 0;
      for (const path of paths) {
        const { text } = await owner.client.get(path, asPage);
        if (text.includes('onerror&#x3D;') || text.includes('onerror=')) shownCount += 1;
        expect(!text.includes('<img src=x') && !text.includes('<script>alert'), `${path} holds the markup`);
      }
      expect(shownCount > 10, `the name is to be seen on ${shownCount} pages`);
      return `${shownCount} of ${paths.length} pages show it, none as markup`;
    },
  },
  {
    row: '72 what a model writes is text in the page, and the policy loads nothing',
    prove: async (world) => {
      const person = await world.newPerson();
      const id = await conversationOf(person);
      const content =
        '[x](javascript:alert(1)) ![y](https://evil.example/p.png) <style>*{display:none}</style>';
      expectStatus(
        await person.client.post(`/api/chat/${id}`, { json: { content: `Hi [[echo=${content}]]` } }),
        200,
      );
      const { text, headers } = await person.client.get(`/dashboard/webchat/${id}`, asPage);
      expect(text.includes('javascript:alert(1)'), 'the answer is shown');
      expect(!/href="javascript|<style>|src="https:\/\/evil/.test(text), 'as text alone');
      const policy = headers.get('content-security-policy') ?? '';
      expect(!/img-src[^;]*(https:|\*)/.test(policy), `pictures of other hosts: ${policy}`);
      return 'in a browser: test/browser/chat.test.ts';
    },
  },
  {
    row: '73 words of the template engine in a query or a body change nothing',
    prove: async (world) => {
      const { client } = await world.newPerson();
      const reservedNames = ['layout', 'settings', '_locals', 'cache', 'view', '__proto__'];
      for (const reservedName of reservedNames) {
        const answer = await client.get(`/dashboard/keys?${reservedName}=dev&${reservedName}[x]=1`, asPage);
        expect([200, 400, 422].includes(answer.status), `${reservedName} is answered ${answer.status}`);
        expect(answer.text.includes('<main id="main"'), `${reservedName}: the page has its layout`);
        const form = { email: 'a@example.com', password: 'x', [reservedName]: 'dev' };
        const { status } = await world.anonymous.post('/auth/login', { form, ...asPage });
        expect(status >= 400 && status < 500, `${reservedName} in a form is answered ${status}`);
      }
      return `${reservedNames.length} words`;
    },
  },
  {
    row: '74 cells of files are no formulas',
    prove: async (world) => {
      const person = await world.newPerson();
      for (const name of ['=1+1', '+1', '-1', '@SUM(A1)']) {
        const key = await world.newKey(person, name);
        expectStatus(await key.client.post(CHAT_PATH, chatOptions('hello', { user: name })), 200);
      }
      const { text } = await person.client.get('/dashboard/keys/export');
      expect(text.includes("'=1+1"), `guarded: ${text.slice(0, 200)}`);
      for (const path of [
        '/dashboard/keys/export',
        '/dashboard/request-log/export',
        '/dashboard/activity/export',
      ]) {
        const answer = await person.client.get(path);
        expectStatus(answer, 200);
        const cells = answer.text.split('\r\n').flatMap((line) => line.split(','));
        const formula = cells.find((cell) => /^"?[=+@\t\r]/.test(cell) || /^"?-[^\d"]/.test(cell));
        expect(formula === undefined, `${path} holds ${String(formula)}`);
      }
      return '3 files';
    },
  },
  {
    row: '75 names of prototypes in metadata are refused, and change nothing',
    prove: async (world) => {
      const body = '{"name":"x","metadata":{"__proto__":{"polluted":"yes"}}}';
      const headers = { 'content-type': 'application/json' };
      expectStatus(await world.rootKey.post('/v1/manage/keys', { body, headers }), 400, 'invalid_request');
      const questions = [
        [CHAT_PATH, '"messages":[{"role":"user","content":"hello"}]'],
        ['/v1/messages', '"max_tokens":9,"messages":[{"role":"user","content":"hello"}]'],
        ['/v1/responses', '"input":"hello"'],
      ] as const;
      for (const [path, question] of questions) {
        const labelled = body.replace('"name":"x"', `"model":"sim-small",${question}`);
        const answer = await world.key.post(path, { body: labelled, headers });
        expect(
          answer.status === 400 && answer.text.includes('metadata.__proto__'),
          `${path}: ${answer.text}`,
        );
      }
      const form = new FormData();
      form.append('model', 'sim-transcribe');
      form.append('__proto__[polluted]', 'yes');
      form.append('file', new Blob([new Uint8Array(64)]), 'a.wav');
      expectStatus(await world.key.post('/v1/audio/transcriptions', { body: form }), 400, 'invalid_request');
      expect((Object.prototype as { polluted?: unknown }).polluted === undefined, 'nothing is polluted');
      return 'refused';
    },
  },
];

export const rows: readonly ThreatRow[] = [...keyRows, ...pageRows];
