import { AdminHouse, type Json } from './admin-house';

/*
 * "U+202E, U+200B in names": every body field for a name refuses them. The operations come from the description that
 * the service serves, so a new form is included.
 */
let administration: AdminHouse;
beforeAll(async () => (administration = await AdminHouse.open()));
afterAll(() => administration.close());

const NAMES = ['name', 'display_name', 'label', 'title', 'alias'];

interface Operation {
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Json }>> };
}

async function operationsWithNames(): Promise<[path: string, field: string][]> {
  const { json } = await administration.admin.get('/openapi.json');
  const paths = json['paths'] as Readonly<Record<string, { readonly post?: Operation }>>;
  return Object.entries(paths).flatMap(([path, { post }]) => {
    const schema = post?.requestBody?.content['application/json']?.schema;
    const properties = Object.keys((schema?.['properties'] as Json | undefined) ?? {});
    return path.startsWith('/v1/')
      ? []
      : NAMES.filter((field) => properties.includes(field)).map((field): [string, string] => [path, field]);
  });
}

test('no body takes a name with a bidirectional override or a zero-width space', async () => {
  const operations = await operationsWithNames();
  const { json: key } = await administration.admin.post('/dashboard/keys/new', { name: 'mine' });
  const idOf: Readonly<Record<string, string>> = { '{key_id}': String(key['id']) };
  expect(operations.length).toBeGreaterThanOrEqual(10);
  const taken: string[] = [];
  for (const [path, field] of operations)
    for (const name of ['Ada\u202Ecod.exe', 'Ad\u200Ba', '\u2066Ada\u2069', 'Ada\u3164']) {
      const address = path.replaceAll(/\{\w+\}/g, (name) => idOf[name] ?? '1');
      const { status, json } = await administration.admin.post(address, { [field]: name });
      const isRefused = [400, 422].includes(status) && JSON.stringify(json).includes('invisible');
      if (!isRefused) taken.push(`${path} ${field}: ${status} ${JSON.stringify(json).slice(0, 200)}`);
    }
  expect(taken).toEqual([]);
});
