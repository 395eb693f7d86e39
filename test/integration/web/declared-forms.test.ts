import type { JsonSchema } from '../../../src/kernel';
import type { OpenApiDocument } from '../../../src/web';
import { parseForms, type PageField, type PageForm } from '../../support/page-forms';
import { PortalFixture, type Person } from '../admin/portal-fixture';
import { createOneOfEach, collectForms } from './collect-forms';

/**
 * Limits of fields are declared once. The OpenAPI description exposes them to clients and form controls to browsers;
 * this test compares both field by field.
 */

type DeclaredForm = PageForm & { readonly page: string };

let fixture: PortalFixture;
let owner: Person;
let forms: DeclaredForm[];
let paths: OpenApiDocument['paths'];

const publicPages = [
  '/login',
  '/signup',
  '/forgot-password',
  `/reset-password?token=${'A'.repeat(43)}`,
  '/verify-email',
];
const textInputTypes = new Set(['text', 'search', 'email', 'url', 'tel', 'number', 'textarea', 'password']);
/** Checkboxes, radio buttons and hidden fields have no text limits. */
const unlimitedTypes = new Set(['hidden', 'checkbox', 'radio', 'file']);

beforeAll(async () => {
  fixture = await PortalFixture.open();
  owner = await createOneOfEach(fixture);
  forms = await collectForms(fixture, owner);
  for (const page of publicPages) {
    const { text } = await fixture.get(null, page);
    forms.push(...parseForms(text).map((form) => ({ ...form, page })));
  }
  ({ paths } = (await (await fetch(`${fixture.app.url}/openapi.json`)).json()) as OpenApiDocument);
}, 120_000);
afterAll(() => fixture.close());

/** Returns the schema of the form body that the route accepts. */
function schemaAt(action: string): JsonSchema | undefined {
  const [address = ''] = action.split('?');
  const fits = (path: string): boolean =>
    new RegExp(`^${path.replaceAll(/\{[^}]+\}/g, '[^/]+')}$`).test(address);
  const path = Object.keys(paths).find((one) => one === address) ?? Object.keys(paths).find(fits) ?? '';
  return paths[path]?.post?.requestBody?.content['application/x-www-form-urlencoded']?.schema;
}

const typesOf = ({ type }: JsonSchema): readonly unknown[] => [type].flat().filter((one) => one !== 'null');
const isNumber = (schema: JsonSchema): boolean =>
  typesOf(schema).length === 1 && ['integer', 'number'].includes(String(typesOf(schema)[0]));
const asText = (bound: number | undefined): string | undefined => bound?.toString();

/** Browsers require more characters to be escaped than other pattern engines. */
const unescaped = (pattern: string | undefined): string | undefined =>
  pattern?.replaceAll(/\\([(){}/|-])/g, '$1');

/** Pairs that must be equal: the attribute of the control and the declared value. */
function boundsOf({ type, limits }: PageField, schema: JsonSchema): [string, unknown, unknown][] {
  if (isNumber(schema) && type !== 'select')
    return [
      ['type', type, 'number'],
      ['min', limits.min, asText(schema.minimum)],
      ['max', limits.max, asText(schema.maximum)],
    ];
  if (!textInputTypes.has(type) || !typesOf(schema).includes('string')) return [];
  const supportsPattern = type !== 'textarea' && type !== 'email';
  return [
    ['maxlength', limits.maxlength, asText(schema.maxLength)],
    ['minlength', limits.minlength ?? '1', asText(schema.minLength ?? 1)],
    ['pattern', unescaped(limits.pattern), supportsPattern ? unescaped(schema.pattern) : undefined],
  ];
}

function mismatchesOf(field: PageField, schema: JsonSchema, isRequired: boolean): string[] {
  const { type, options, value } = field;
  if (unlimitedTypes.has(type)) return [];
  const choices = schema.enum?.map(String);
  const pairs: [string, unknown, unknown][] = [
    ...boundsOf(field, schema),
    ...(isRequired ? ([['required', field.isRequired, true]] as [string, unknown, unknown][]) : []),
    ...(schema.format === 'date' ? ([['type', type, 'date']] as [string, unknown, unknown][]) : []),
  ];
  const undeclaredOptions = options.filter((option) => option !== '' && choices?.includes(option) === false);
  return [
    ...pairs.flatMap(([name, given, wanted]) =>
      given === wanted ? [] : [`${name} is ${String(given)}, declared is ${String(wanted)}`],
    ),
    ...undeclaredOptions.map((option) => `offers ${option}`),
    ...(type === 'select' && value !== '' && choices?.includes(value) === false ? [`holds ${value}`] : []),
  ];
}

const distinctForms = (): DeclaredForm[] => [
  ...new Map(
    forms.map((form) => [
      `${form.action} ${form.fields.map(({ name, type }) => name + type).join(' ')}`,
      form,
    ]),
  ).values(),
];

test('the controls of every form match the declaration of their fields', () => {
  let comparedCount = 0;
  const mismatches = distinctForms().flatMap(({ action, fields, page }) => {
    const schema = schemaAt(action);
    return fields.flatMap((field) => {
      const declaredField = schema?.properties?.[field.name];
      if (declaredField === undefined) return [];
      comparedCount += 1;
      return mismatchesOf(field, declaredField, schema?.required?.includes(field.name) === true).map(
        (fault) => `${action} on ${page}: ${field.name} ${fault}`,
      );
    });
  });
  expect(mismatches).toEqual([]);
  expect(comparedCount).toBeGreaterThan(150);
});

test('every field of every form is declared', () => {
  const undeclaredFields = distinctForms().flatMap(({ action, fields }) => {
    const schema = schemaAt(action);
    return fields
      .filter(({ name }) => name !== '_page' && schema?.properties?.[name] === undefined)
      .map(({ name }) => `${action} ${name}`);
  });
  expect([...new Set(undeclaredFields)]).toEqual([]);
});

test('the form of a new key starts with the declared defaults', () => {
  const form = forms.find(({ action }) => action === '/dashboard/keys/new');
  const { properties = {} } = schemaAt('/dashboard/keys/new') ?? {};
  const defaults = Object.entries(properties).filter(([, schema]) => schema.default !== undefined);
  expect(defaults.map(([name]) => name).sort()).toEqual(['budget_period', 'models_mode']);
  for (const [name, schema] of defaults)
    expect([name, form?.fields.find((field) => field.name === name && field.isSent)?.value]).toEqual([
      name,
      schema.default,
    ]);
});

test('every pattern of a control is a valid browser pattern', () => {
  const patterns = new Set(
    forms.flatMap(({ fields }) => fields.flatMap(({ limits }) => limits.pattern ?? [])),
  );
  const unreadable = [...patterns].filter((pattern) => {
    try {
      return new RegExp(`^(?:${pattern})$`, 'v').source === '';
    } catch {
      return true;
    }
  });
  expect(unreadable).toEqual([]);
  expect(patterns.size).toBeGreaterThan(2);
});
