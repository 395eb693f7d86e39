import { AdminHouse, type Json } from './admin-fixture';

/*
 * "U+202E, U+200B in names": every body field for a name refuses these characters. Operations come from the served
 * OpenAPI description, so new forms are covered.
 */
let fixture: AdminHouse;
beforeAll(async () => (fixture = await AdminHouse.open()));
afterAll(() => fixture.close());

const NAMES = ['name', 'display_name', 'label', 'title', 'alias'];

interface NamedOperation {
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Json }>> };
}

async function operationsWithNames(): Promise<[path: string, field: string][]> {
  const { json } = await fixture.admin.get('/openapi.json');
  const paths = json['paths'] as Readonly<Record<string, { readonly post?: NamedOperation }>>;
  return Object.entries(paths).flatMap(([path, { post }]) => {
    const schema = post?.requestBody?.content['application/json']?.schema;
    const properties = Object.keys((schema?.['properties'] as Json | undefined) ?? {});
    return path.startsWith('/v1/')
      ? []
      : NAMES.filter((field) => properties.includes(field)).map((field): [string, string] => [path, field]);
  });
}

test('every name field refuses bidirectional overrides and zero-width spaces', async () => {
  const operations = await operationsWithNames();
  const { json: key } = await fixture.admin.post('/dashboard/keys/new', { name: 'mine' });
  const idOf: Readonly<Record<string, string>> = { '{key_id}': String(key['id']) };
  expect(operations.length).toBeGreaterThanOrEqual(10);
  const acceptedFields: string[] = [];
  for (const [path, field] of operations)
    for (const name of ['Ada\u202Ecod.exe', 'Ad\u200Ba', '\u2066Ada\u2069', 'Ada\u3164']) {
      const concretePath = path.replaceAll(/\{\w+\}/g, (name) => idOf[name] ?? '1');
      const { status, json } = await fixture.admin.post(concretePath, { [field]: name });
      const isRefused = [400, 422].includes(status) && JSON.stringify(json).includes('invisible');
      if (!isRefused)
        acceptedFields.push(`${path} ${field}: ${status} ${JSON.stringify(json).slice(0, 200)}`);
    }
  expect(acceptedFields).toEqual([]);
});
