import { app, closeFixture, openFixture } from './gateway-fixture';

type Json = Record<string, unknown>;
interface InputItemsPage extends Json {
  readonly data: readonly {
    readonly id: string;
    readonly type: string;
    readonly role: string;
    readonly content: readonly { readonly type: string; readonly text: string }[];
  }[];
  readonly has_more: boolean;
  readonly last_id: string;
}

describe('Input items of a stored response', () => {
  let answerId: string;

  const send = async (path: string, body?: Json): Promise<{ status: number; body: Json }> => {
    const response = await fetch(`${app.url}/v1/responses${path}`, {
      headers: { authorization: `Bearer ${app.firstKeys?.demo}`, 'content-type': 'application/json' },
      ...(body && { method: 'POST', body: JSON.stringify({ model: 'sim-small', ...body }) }),
    });
    return { status: response.status, body: (await response.json()) as Json };
  };

  beforeAll(async () => {
    await openFixture();
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
  afterAll(closeFixture);

  const page = async (query = ''): Promise<InputItemsPage> =>
    (await send(`/${answerId}/input_items${query}`)).body as InputItemsPage;
  const texts = ({ data }: InputItemsPage): string[] => data.map(({ content }) => content[0]!.text);

  test('lists the complete conversation, newest first', async () => {
    const fullPage = await page();
    expect(fullPage).toMatchObject({ object: 'list', has_more: false, first_id: 'msg_own' });
    expect(fullPage.last_id).toBe(fullPage.data.at(-1)!.id);
    expect(texts(fullPage).map((text) => text.split(' ')[0])).toEqual([
      'Five',
      'Four',
      'Three',
      'Two',
      'One',
    ]);
    expect(fullPage.data.map(({ type, role, content }) => [type, role, content[0]!.type])).toEqual([
      ['message', 'user', 'input_text'],
      ['message', 'assistant', 'output_text'],
      ['message', 'user', 'input_text'],
      ['message', 'assistant', 'output_text'],
      ['message', 'user', 'input_text'],
    ]);
    expect(new Set(fullPage.data.map(({ id }) => id)).size).toBe(5);
  });

  test('pagination returns each item once', async () => {
    for (const order of ['asc', 'desc']) {
      const seenIds: string[] = [];
      let after = '';
      for (let hasMore = true; hasMore;) {
        const nextPage = await page(`?limit=2&order=${order}${after}`);
        seenIds.push(...nextPage.data.map(({ id }) => id));
        after = `&after=${nextPage.last_id}`;
        hasMore = nextPage.has_more;
      }
      const fullPage = await page(`?order=${order}`);
      expect(seenIds).toEqual(fullPage.data.map(({ id }) => id));
    }
  });

  test.each([
    ['limit', '?limit=0'],
    ['limit', '?limit=101'],
    ['limit', '?limit=1e1'],
    ['order', '?order=up'],
    ['after', '?after=msg_unknown'],
  ])('invalid %s returns 400: %s', async (param, query) => {
    expect(await send(`/${answerId}/input_items${query}`)).toMatchObject({
      status: 400,
      body: { error: { code: 'invalid_request', param } },
    });
  });

  test('unknown response id returns 404', async () => {
    expect(await send('/resp_unknown/input_items')).toMatchObject({
      status: 404,
      body: { error: { code: 'not_found', param: 'response_id' } },
    });
  });
});
