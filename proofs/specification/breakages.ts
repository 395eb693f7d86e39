import { type ResponseBreakage, type PassedResponse, routeOf } from './breaking-proxy';
import { eventsOf, textOf, withEvents } from './stream';
import { changeAt, pathsIn, type PathStep } from './paths';

type BreakageChange = ResponseBreakage['change'];
interface BreakageVariant {
  readonly name: string;
  readonly change: BreakageChange;
}

/**
 * All subtle ways to break these responses. Those the statement mentions come first, later responses before earlier
 * ones, and a wrong status last.
 */
export function breakagesOf(answers: readonly PassedResponse[], statement: string): ResponseBreakage[] {
  const countByKey = new Map<string, number>();
  const numberOf = (key: string): number => {
    const number = countByKey.get(key) ?? 0;
    countByKey.set(key, number + 1);
    return number;
  };
  const all = answers.flatMap((response) => {
    const route = routeOf(response.method, response.path);
    const key = `${route} ${response.status}`;
    const [at, asked] = [numberOf(key), numberOf(route)];
    const variants = [...variantsOf(response), ...statusVariants(response)];
    const breakages = variants.map(({ name, change }): ResponseBreakage => ({
      name: `${route}: ${name}`,
      of: key,
      at,
      change,
    }));
    return [...breakages, ...withoutEffect(response, route, asked)].toReversed();
  });
  return all.toReversed().toSorted((one, other) => rank(one, statement) - rank(other, statement));
}

/**
 * Order: omitted effects, error codes and parts named by the statement, first at the operation it names. Product
 * headers, other parts of a response, other headers and the status follow.
 */
function rank({ name }: ResponseBreakage, statement: string): number {
  if (name.endsWith('not done')) return 0;
  const pattern = statement.replaceAll(/\{\w+\}/g, '*');
  const isNamed = pattern.includes(`\`${name.slice(0, name.indexOf(': '))}\``);
  if (isNamed && /: status \d/.test(name)) return 0.5;
  const [, what = ''] = /'([^']+)'/.exec(name) ?? [];
  if (/^(?:error\.)?code$/.test(what)) return 1;
  const words = (what.split('.').at(-1) ?? '').toLowerCase().split(/[-_]/);
  const lowerStatement = statement.toLowerCase();
  if (words.some((word) => word.length > 3 && lowerStatement.includes(word))) return 1;
  if (/: status \d/.test(name)) return 5;
  if (/'x-|'retry-after'/.test(name)) return 2;
  return name.includes(' header ') ? 4 : 3;
}

const isText = ({ headers }: PassedResponse): boolean =>
  /json|text|event-stream/.test(String(headers['content-type']));
const has = ({ headers }: PassedResponse, type: string): boolean =>
  String(headers['content-type']).includes(type);

function variantsOf(response: PassedResponse): BreakageVariant[] {
  const variants = has(response, 'event-stream')
    ? streamVariants(response)
    : has(response, 'json')
      ? bodyVariants(response)
      : isText(response)
        ? textVariants(response)
        : byteVariants(response);
  return [...variants, ...headerVariants(response)];
}

const CHANGE_KINDS = ['drop', 'alter', 'retype'] as const;

function bodyVariants(response: PassedResponse): BreakageVariant[] {
  const body = parsed(response.body.toString());
  const variants = pathsIn(body).flatMap((path) =>
    CHANGE_KINDS.map((kind) => ({
      name: `${kind} '${path.join('.')}'`,
      change: (answer: PassedResponse) => changedBody(answer, path, kind),
    })),
  );
  return [...variants, { name: "a secret as 'key'", change: withSecret }];
}

/** Reveals a secret. */
function withSecret(answer: PassedResponse): PassedResponse | null {
  const body = parsed(answer.body.toString());
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return null;
  return { ...answer, body: Buffer.from(JSON.stringify({ ...body, key: 'svc_told' })) };
}

function changedBody(
  answer: PassedResponse,
  path: readonly PathStep[],
  kind: (typeof CHANGE_KINDS)[number],
): PassedResponse | null {
  const body = parsed(answer.body.toString());
  const changedValue = changeAt(body, path, kind);
  return changedValue === undefined ? null : { ...answer, body: Buffer.from(JSON.stringify(changedValue)) };
}

/** Breaks a field in all events that have it. */
function streamVariants(response: PassedResponse): BreakageVariant[] {
  const events = eventsOf(response.body);
  const names = [...new Set(events.map(({ type }) => type).filter((type) => type !== ''))];
  const paths = new Map<string, readonly PathStep[]>();
  for (const { data } of events) for (const path of pathsIn(parsed(data))) paths.set(path.join('.'), path);
  return [
    { name: 'the last event is missing', change: (answer) => withEvents(answer, (all) => all.slice(0, -1)) },
    { name: 'the first event is missing', change: (answer) => withEvents(answer, (all) => all.slice(1)) },
    {
      name: 'cut in the middle',
      change: (answer) => withEvents(answer, (all) => all.slice(0, all.length / 2)),
    },
    ...names.map((type) => ({
      name: `no event '${type}'`,
      change: (answer: PassedResponse) =>
        withEvents(answer, (all) => all.filter((event) => event.type !== type)),
    })),
    ...[...paths.values()].flatMap((path) =>
      CHANGE_KINDS.map((kind) => ({
        name: `${kind} '${path.join('.')}' of events`,
        change: (answer: PassedResponse) =>
          withEvents(answer, (all) =>
            all.map((event) => {
              const changedData = changeAt(parsed(event.data), path, kind);
              return changedData === undefined ? event : textOf(event.type, JSON.stringify(changedData));
            }),
          ),
      })),
    ),
  ];
}

const streamEndings = [
  'h1',
  'form',
  'table',
  'tr',
  'a',
  'button',
  'input',
  'select',
  'option',
  'textarea',
  'nav',
  'main',
];

function textVariants({ body }: PassedResponse): BreakageVariant[] {
  const text = body.toString();
  const inText = (name: string, change: (text: string) => string): BreakageVariant => ({
    name,
    change: (answer) => {
      const before = answer.body.toString();
      const after = change(before);
      return after === before ? null : { ...answer, body: Buffer.from(after) };
    },
  });
  return [
    inText('half of it', (all) => all.slice(0, all.length / 2)),
    inText('the last line is missing', (all) => all.split('\n').slice(0, -2).join('\n')),
    inText('the first line is another', (all) =>
      all.replace(/^[^\n]*/, (line) => line.replaceAll(/\w/g, 'x')),
    ),
    ...streamEndings
      .filter((mark) => text.includes(`<${mark}`))
      .map((mark) =>
        inText(`no '${mark}'`, (all) => all.replaceAll(new RegExp(`</?${mark}\\b[^>]*>`, 'g'), '')),
      ),
  ];
}

const byteVariants = ({ body }: PassedResponse): BreakageVariant[] =>
  body.length === 0
    ? []
    : [
        {
          name: 'half of it',
          change: (answer) => ({ ...answer, body: answer.body.subarray(0, answer.body.length / 2) }),
        },
        {
          name: 'other first bytes',
          change: (answer) => ({
            ...answer,
            body: Buffer.concat([Buffer.from('xxxx'), answer.body.subarray(4)]),
          }),
        },
        { name: 'nothing', change: (answer) => ({ ...answer, body: Buffer.alloc(0) }) },
      ];

function headerVariants({ headers, trailers }: PassedResponse): BreakageVariant[] {
  const names = Object.keys(headers).filter((name) => name !== 'date' && name !== 'etag');
  return [
    ...names.flatMap((name): BreakageVariant[] => [
      {
        name: `no header '${name}'`,
        change: (answer) => ({ ...answer, headers: without(answer.headers, name) }),
      },
      {
        name: `another header '${name}'`,
        change: (answer) => ({
          ...answer,
          headers: { ...answer.headers, [name]: otherValue(answer.headers[name]) },
        }),
      },
    ]),
    ...Object.keys(trailers).flatMap((name): BreakageVariant[] => [
      {
        name: `no trailer '${name}'`,
        change: (answer) => ({ ...answer, trailers: without(answer.trailers, name) }),
      },
      {
        name: `another trailer '${name}'`,
        change: (answer) => ({
          ...answer,
          trailers: { ...answer.trailers, [name]: String(otherValue(answer.trailers[name])) },
        }),
      },
    ]),
  ];
}

function without<Value>(all: Readonly<Record<string, Value>>, name: string): Record<string, Value> {
  const { [name]: _dropped, ...rest } = all;
  return rest;
}

function otherValue(value: string | string[] | undefined): string | string[] {
  const text = String(value);
  if (text === 'true' || text === 'false') return text === 'true' ? 'false' : 'true';
  if (/^[\d.]+$/.test(text)) return String(Number(text) + 1);
  return text.includes('/') ? 'application/octet-stream' : `${text}x`;
}

function statusVariants({ status }: PassedResponse): BreakageVariant[] {
  const others = status < 300 ? [202, 400] : status < 400 ? [200] : [status === 400 ? 422 : 400, 200];
  return others.map((other) => ({
    name: `status ${other} for ${status}`,
    change: (answer) => ({ ...answer, status: other }),
  }));
}

/** Responds as before without having done anything. */
const withoutEffect = (response: PassedResponse, route: string, at: number): ResponseBreakage[] =>
  response.method === 'GET' || response.status >= 400
    ? []
    : [{ name: `${route}: answered, not done`, of: route, at, change: () => null, instead: response }];

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
