import type { JsonSchema } from '../../../src/kernel';
import type { OpenApiDocument } from '../../../src/web';
import { formsOf, type PageField, type PageForm } from '../../support/page-forms';
import { House, type Person } from '../admin/house';
import { furnished, offeredForms } from './offered-forms';

/**
 * The bounds of a field are declared once. The description of the interface says it to programs, and the
 * controls of every form of every page to browsers. Both are compared here, field by field.
 */

type Offered = PageForm & { readonly page: string };

let house: House;
let owner: Person;
let forms: Offered[];
let paths: OpenApiDocument['paths'];

const entrances = [
  '/login',
  '/signup',
  '/forgot-password',
  `/reset-password?token=${'A'.repeat(43)}`,
  '/verify-email',
];
const typed = new Set(['text', 'search', 'email', 'url', 'tel', 'number', 'textarea', 'password']);
/** Boxes are ticked or not, and what is hidden is no one's typing. */
const unbound = new Set(['hidden', 'checkbox', 'radio', 'file']);

beforeAll(async () => {
  house = await House.open();
  owner = await furnished(house);
  forms = await offeredForms(house, owner);
  for (const page of entrances) {
    const { text } = await house.get(null, page);
    forms.push(...formsOf(text).map((form) => ({ ...form, page })));
  }
  ({ paths } = (await (await fetch(`${house.app.url}/openapi.json`)).json()) as OpenApiDocument);
}, 120_000);
afterAll(() => house.close());

/** The body that the address takes from a page. */
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

/** Browsers want more signs escaped than other readers of patterns. */
const unescaped = (pattern: string | undefined): string | undefined =>
  pattern?.replaceAll(/\\([(){}/|-])/g, '$1');

/** The pairs that have to be equal: what the control says, and what is declared. */
function boundsOf({ type, limits }: PageField, schema: JsonSchema): [string, unknown, unknown][] {
  if (isNumber(schema) && type !== 'select')
    return [
      ['type', type, 'number'],
      ['min', limits.min, asText(schema.minimum)],
      ['max', limits.max, asText(schema.maximum)],
    ];
  if (!typed.has(type) || !typesOf(schema).includes('string')) return [];
  const takesPattern = type !== 'textarea' && type !== 'email';
  return [
    ['maxlength', limits.maxlength, asText(schema.maxLength)],
    ['minlength', limits.minlength ?? '1', asText(schema.minLength ?? 1)],
    ['pattern', unescaped(limits.pattern), takesPattern ? unescaped(schema.pattern) : undefined],
  ];
}

function faultsOf(field: PageField, schema: JsonSchema, isRequired: boolean): string[] {
  const { type, options, value } = field;
  if (unbound.has(type)) return [];
  const choices = schema.enum?.map(String);
  const pairs: [string, unknown, unknown][] = [
    ...boundsOf(field, schema),
    ...(isRequired ? ([['required', field.isRequired, true]] as [string, unknown, unknown][]) : []),
    ...(schema.format === 'date' ? ([['type', type, 'date']] as [string, unknown, unknown][]) : []),
  ];
  const strange = options.filter((option) => option !== '' && choices?.includes(option) === false);
  return [
    ...pairs.flatMap(([name, given, wanted]) =>
      given === wanted ? [] : [`${name} is ${String(given)}, declared is ${String(wanted)}`],
    ),
    ...strange.map((option) => `offers ${option}`),
    ...(type === 'select' && value !== '' && choices?.includes(value) === false ? [`holds ${value}`] : []),
  ];
}

const distinct = (): Offered[] => [
  ...new Map(
    forms.map((form) => [
      `${form.action} ${form.fields.map(({ name, type }) => name + type).join(' ')}`,
      form,
    ]),
  ).values(),
];

test('the controls of every form say what is declared of their fields', () => {
  let compared = 0;
  const faults = distinct().flatMap(({ action, fields, page }) => {
    const schema = schemaAt(action);
    return fields.flatMap((field) => {
      const declared = schema?.properties?.[field.name];
      if (declared === undefined) return [];
      compared += 1;
      return faultsOf(field, declared, schema?.required?.includes(field.name) === true).map(
        (fault) => `${action} on ${page}: ${field.name} ${fault}`,
      );
    });
  });
  expect(faults).toEqual([]);
  expect(compared).toBeGreaterThan(150);
});

test('every field of every form is declared', () => {
  const stray = distinct().flatMap(({ action, fields }) => {
    const schema = schemaAt(action);
    return fields
      .filter(({ name }) => name !== '_page' && schema?.properties?.[name] === undefined)
      .map(({ name }) => `${action} ${name}`);
  });
  expect([...new Set(stray)]).toEqual([]);
});

test('the form of a new key begins with what is declared where nothing is said', () => {
  const form = forms.find(({ action }) => action === '/dashboard/keys/new');
  const { properties = {} } = schemaAt('/dashboard/keys/new') ?? {};
  const usual = Object.entries(properties).filter(([, schema]) => schema.default !== undefined);
  expect(usual.map(([name]) => name).sort()).toEqual(['budget_period', 'models_mode']);
  for (const [name, schema] of usual)
    expect([name, form?.fields.find((field) => field.name === name && field.isSent)?.value]).toEqual([
      name,
      schema.default,
    ]);
});

test('a pattern of a control is one that a browser reads', () => {
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
