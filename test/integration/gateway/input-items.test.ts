import { app, closeHouse, openHouse } from './gateway-house';

type Json = Record<string, unknown>;
interface Page extends Json {
  readonly data: readonly {
    readonly id: string;
    readonly type: string;
    readonly role: string;
    readonly content: readonly { readonly type: string; readonly text: string }[];
  }[];
  readonly has_more: boolean;
  readonly last_id: string;
}

describe('the input items of a kept answer', () => {
  let answerId: string;

  const send = async (path: string, body?: Json): Promise<{ status: number; body: Json }> => {
    const response = await fetch(`${app.url}/v1/responses${path}`, {
      headers: { authorization: `Bearer ${app.firstKeys?.demo}`, 'content-type': 'application/json' },
      ...(body && { method: 'POST', body: JSON.stringify({ model: 'sim-small', ...body }) }),
    });
    return { status: response.status, body: (await response.json()) as Json };
  };

  beforeAll(async () => {
    await openHouse();
    const first = await send('', { input: 'One [[echo=Two]]' });
    const parts = [{ type: 'input_text', text: 'Three' }];
    const input = [
      { type: 'message', role: 'user', content: parts },
      { role: 'assistant', content: 'Four' },
      { id: 'msg_own', role: 'user', content: 'Five' },
    ];
    const next = await send('', { input, previous_response_id: first.body.id });
    answerId = String(next.body.id);
  });
  afterAll(closeHouse);

  const page = async (query = ''): Promise<Page> =>
    (await send(`/${answerId}/input_items${query}`)).body as Page;
  const texts = ({ data }: Page): string[] => data.map(({ content }) => content[0]!.text);

  test('the latest first, of the whole conversation', async () => {
    const all = await page();
    expect(all).toMatchObject({ object: 'list', has_more: false, first_id: 'msg_own' });
    expect(all.last_id).toBe(all.data.at(-1)!.id);
    expect(texts(all).map((text) => text.split(' ')[0])).toEqual(['Five', 'Four', 'Three', 'Two', 'One']);
    expect(all.data.map(({ type, role, content }) => [type, role, content[0]!.type])).toEqual([
      ['message', 'user', 'input_text'],
      ['message', 'assistant', 'output_text'],
      ['message', 'user', 'input_text'],
      ['message', 'assistant', 'output_text'],
      ['message', 'user', 'input_text'],
    ]);
    expect(new Set(all.data.map(({ id }) => id)).size).toBe(5);
  });

  test('each once from page to page', async () => {
    for (const order of ['asc', 'desc']) {
      const seen: string[] = [];
      let after = '';
      for (let more = true; more;) {
        const found = await page(`?limit=2&order=${order}${after}`);
        seen.push(...found.data.map(({ id }) => id));
        after = `&after=${found.last_id}`;
        more = found.has_more;
      }
      const all = await page(`?order=${order}`);
      expect(seen).toEqual(all.data.map(({ id }) => id));
    }
  });

  test.each([
    ['limit', '?limit=0'],
    ['limit', '?limit=101'],
    ['limit', '?limit=1e1'],
    ['order', '?order=up'],
    ['after', '?after=msg_unknown'],
  ])('and refuse what is no %s: %s', async (param, query) => {
    expect(await send(`/${answerId}/input_items${query}`)).toMatchObject({
      status: 400,
      body: { error: { code: 'invalid_request', param } },
    });
  });

  test('and are 404 for any other id', async () => {
    expect(await send('/resp_unknown/input_items')).toMatchObject({
      status: 404,
      body: { error: { code: 'not_found', param: 'response_id' } },
    });
  });
});
