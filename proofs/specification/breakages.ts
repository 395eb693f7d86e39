import { type Breakage, type Passed, routeOf } from './meddler';
import { eventsOf, textOf, withEvents } from './stream';
import { changeAt, pathsIn, type Step } from './paths';

type Change = Breakage['change'];
interface Way {
  readonly name: string;
  readonly change: Change;
}

/**
 * These answers can be subtly wrong in all these ways. Those that the statement speaks of come first, the
 * last answers before the earlier ones, and a wrong status last of all.
 */
export function breakagesOf(answers: readonly Passed[], statement: string): Breakage[] {
  const seen = new Map<string, number>();
  const numberOf = (of: string): number => {
    const number = seen.get(of) ?? 0;
    seen.set(of, number + 1);
    return number;
  };
  const all = answers.flatMap((passed) => {
    const route = routeOf(passed.method, passed.path);
    const of = `${route} ${passed.status}`;
    const [at, asked] = [numberOf(of), numberOf(route)];
    const ways = [...waysOf(passed), ...statusWays(passed)];
    const broken = ways.map(({ name, change }): Breakage => ({ name: `${route}: ${name}`, of, at, change }));
    return [...broken, ...swallowed(passed, route, asked)].toReversed();
  });
  return all.toReversed().toSorted((one, other) => rank(one, statement) - rank(other, statement));
}

/**
 * First comes what is not done. Then come codes of errors and what the statement speaks of, first at the
 * operation that it names. Our headers, other parts of an answer, other headers and the status follow.
 */
function rank({ name }: Breakage, statement: string): number {
  if (name.endsWith('not done')) return 0;
  const named = statement.replaceAll(/\{\w+\}/g, '*');
  const isNamed = named.includes(`\`${name.slice(0, name.indexOf(': '))}\``);
  if (isNamed && /: status \d/.test(name)) return 0.5;
  const [, what = ''] = /'([^']+)'/.exec(name) ?? [];
  if (/^(?:error\.)?code$/.test(what)) return 1;
  const words = (what.split('.').at(-1) ?? '').toLowerCase().split(/[-_]/);
  const said = statement.toLowerCase();
  if (words.some((word) => word.length > 3 && said.includes(word))) return 1;
  if (/: status \d/.test(name)) return 5;
  if (/'x-|'retry-after'/.test(name)) return 2;
  return name.includes(' header ') ? 4 : 3;
}

const isText = ({ headers }: Passed): boolean =>
  /json|text|event-stream/.test(String(headers['content-type']));
const has = ({ headers }: Passed, type: string): boolean => String(headers['content-type']).includes(type);

function waysOf(passed: Passed): Way[] {
  const ways = has(passed, 'event-stream')
    ? streamWays(passed)
    : has(passed, 'json')
      ? bodyWays(passed)
      : isText(passed)
        ? textWays(passed)
        : bytesWays(passed);
  return [...ways, ...headerWays(passed)];
}

const kinds = ['drop', 'alter', 'retype'] as const;

function bodyWays(passed: Passed): Way[] {
  const body = parsed(passed.body.toString());
  const ways = pathsIn(body).flatMap((path) =>
    kinds.map((kind) => ({
      name: `${kind} '${path.join('.')}'`,
      change: (answer: Passed) => changedBody(answer, path, kind),
    })),
  );
  return [...ways, { name: "a secret as 'key'", change: withSecret }];
}

/** A secret is told. */
function withSecret(answer: Passed): Passed | null {
  const body = parsed(answer.body.toString());
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return null;
  return { ...answer, body: Buffer.from(JSON.stringify({ ...body, key: 'svc_told' })) };
}

function changedBody(answer: Passed, path: readonly Step[], kind: (typeof kinds)[number]): Passed | null {
  const body = parsed(answer.body.toString());
  const changed = changeAt(body, path, kind);
  return changed === undefined ? null : { ...answer, body: Buffer.from(JSON.stringify(changed)) };
}

/** A field of events is broken in all events that have it. */
function streamWays(passed: Passed): Way[] {
  const events = eventsOf(passed.body);
  const names = [...new Set(events.map(({ type }) => type).filter((type) => type !== ''))];
  const paths = new Map<string, readonly Step[]>();
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
      change: (answer: Passed) => withEvents(answer, (all) => all.filter((event) => event.type !== type)),
    })),
    ...[...paths.values()].flatMap((path) =>
      kinds.map((kind) => ({
        name: `${kind} '${path.join('.')}' of events`,
        change: (answer: Passed) =>
          withEvents(answer, (all) =>
            all.map((event) => {
              const changed = changeAt(parsed(event.data), path, kind);
              return changed === undefined ? event : textOf(event.type, JSON.stringify(changed));
            }),
          ),
      })),
    ),
  ];
}

const marks = [
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

function textWays({ body }: Passed): Way[] {
  const text = body.toString();
  const inText = (name: string, change: (text: string) => string): Way => ({
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
    ...marks
      .filter((mark) => text.includes(`<${mark}`))
      .map((mark) =>
        inText(`no '${mark}'`, (all) => all.replaceAll(new RegExp(`</?${mark}\\b[^>]*>`, 'g'), '')),
      ),
  ];
}

const bytesWays = ({ body }: Passed): Way[] =>
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

function headerWays({ headers, trailers }: Passed): Way[] {
  const names = Object.keys(headers).filter((name) => name !== 'date' && name !== 'etag');
  return [
    ...names.flatMap((name): Way[] => [
      {
        name: `no header '${name}'`,
        change: (answer) => ({ ...answer, headers: without(answer.headers, name) }),
      },
      {
        name: `another header '${name}'`,
        change: (answer) => ({
          ...answer,
          headers: { ...answer.headers, [name]: another(answer.headers[name]) },
        }),
      },
    ]),
    ...Object.keys(trailers).flatMap((name): Way[] => [
      {
        name: `no trailer '${name}'`,
        change: (answer) => ({ ...answer, trailers: without(answer.trailers, name) }),
      },
      {
        name: `another trailer '${name}'`,
        change: (answer) => ({
          ...answer,
          trailers: { ...answer.trailers, [name]: String(another(answer.trailers[name])) },
        }),
      },
    ]),
  ];
}

function without<Value>(all: Readonly<Record<string, Value>>, name: string): Record<string, Value> {
  const { [name]: _dropped, ...rest } = all;
  return rest;
}

function another(value: string | string[] | undefined): string | string[] {
  const text = String(value);
  if (text === 'true' || text === 'false') return text === 'true' ? 'false' : 'true';
  if (/^[\d.]+$/.test(text)) return String(Number(text) + 1);
  return text.includes('/') ? 'application/octet-stream' : `${text}x`;
}

function statusWays({ status }: Passed): Way[] {
  const others = status < 300 ? [202, 400] : status < 400 ? [200] : [status === 400 ? 422 : 400, 200];
  return others.map((other) => ({
    name: `status ${other} for ${status}`,
    change: (answer) => ({ ...answer, status: other }),
  }));
}

/** A change is answered as before, and nothing is done. */
const swallowed = (passed: Passed, route: string, at: number): Breakage[] =>
  passed.method === 'GET' || passed.status >= 400
    ? []
    : [{ name: `${route}: answered, not done`, of: route, at, change: () => null, instead: passed }];

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
