import { AddressGuard } from '#product/platform';
import { beginnings, contents, headers, lengths } from '../../../test/support/broken-answers';
import type { Findings } from '../../../test/system/findings';
import { none } from '../none';
import type { WayOut } from '../ways/way';
import { dataFrame, type Field, frameSupplier, headersFrame, resetFrame } from './frames';
import { askFor, settings } from './told';

/** The codes of a reset: by the first two, Node and undici end an answer as if it were whole. */
const resets = { NO_ERROR: 0, CANCEL: 8, PROTOCOL_ERROR: 1, INTERNAL_ERROR: 2 };

interface Play {
  readonly name: string;
  write(stream: number): readonly Buffer[];
  /** The connection ends behind it. */
  readonly isCut?: boolean;
  /** nghttp2 may leave the field out, and what is left is an answer (docs/egress.md). */
  readonly mayBeLeftOut?: boolean;
}

const status = (code: string): Field => [':status', code];

function fieldIn(line: string): Field {
  const colon = line.indexOf(':', 1);
  return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).replace(/^ /, '')];
}

/** The same faults where HTTP/2 has a place for them; lines without a colon and chunks it has not. */
const plays: readonly Play[] = [
  ...beginnings.flatMap(([name, text]): Play[] => {
    const code = /^HTTP\/1\.1 (\S+) /.exec(text)?.[1] ?? '200';
    return /^[12345]\d\d$/.test(code) && code !== '101'
      ? []
      : [{ name: `begins with ${name}`, write: (stream) => [headersFrame(stream, [status(code)], true)] }];
  }),
  ...headers
    .filter(([, line]) => line.includes(':'))
    .flatMap(([name, line]): Play[] => [
      {
        name: `has a header ${name}`,
        mayBeLeftOut: true,
        write: (stream) => [headersFrame(stream, [status('200'), fieldIn(line)], true)],
      },
      {
        name: `has an early header ${name}`,
        mayBeLeftOut: true,
        write: (stream) => [
          headersFrame(stream, [status('103'), fieldIn(line)]),
          headersFrame(stream, [status('200')], true),
        ],
      },
    ]),
  ...lengths.map(([name, lines]): Play => ({
    name: `has a length ${name}`,
    write: (stream) => [
      headersFrame(stream, [status('200'), ...lines.split('\r\n').map(fieldIn)]),
      dataFrame(stream, 'abcde', true),
    ],
  })),
  ...contents.map(([name, text]): Play => {
    const [first = '', ...lines] = text.slice(0, text.indexOf('\r\n\r\n')).split('\r\n');
    const fields = lines.map(fieldIn).filter(([field]) => field !== 'transfer-encoding');
    return {
      name: `has content ${name}`,
      write: (stream) => [
        headersFrame(stream, [status(first.split(' ')[1] ?? ''), ...fields]),
        dataFrame(stream, name.startsWith('compressed') ? '' : 'abcde', true),
      ],
    };
  }),
  ...['', 'begun'].flatMap((body): Play[] =>
    [[], [['content-length', '9'] as const]].flatMap((fields): Play[] => {
      const begun = (stream: number): Buffer[] => [
        headersFrame(stream, [status('200'), ...fields]),
        ...(body === '' ? [] : [dataFrame(stream, body, false)]),
      ];
      const name = `cut behind ${body === '' ? 'its head' : 'a part'}${fields.length > 0 ? ' of nine bytes' : ''}`;
      return [
        { name: `${name}, with its connection`, write: begun, isCut: true },
        ...Object.entries(resets).map(([reason, code]): Play => ({
          name: `${name}, by ${reason}`,
          write: (stream) => [...begun(stream), resetFrame(stream, code)],
        })),
      ];
    }),
  ),
  ...['4', '6'].map((length): Play => ({
    name: `of five bytes that says ${length}`,
    write: (stream) => [
      headersFrame(stream, [status('200'), ['content-length', length]]),
      dataFrame(stream, 'abcde', true),
    ],
  })),
];

/** Each answer in frames is no answer, or one without its faulty field, and the call behind it gets its own. */
export async function proveBrokenFrames(findings: Findings, way: WayOut): Promise<void> {
  let current: Play | null = null;
  let used = 0;
  const supplier = await frameSupplier((stream, _, socket) => {
    used += 1;
    way.came();
    const play = current;
    const good = [headersFrame(stream, [status('200')]), dataFrame(stream, 'ok', true)];
    socket.write(Buffer.concat(play === null ? good : [...play.write(stream)]));
    if (play?.isCut === true) socket.end();
  });
  const guard = new AddressGuard([{ address: '127.0.0.0', prefix: 8, family: 'ipv4' }]);
  const transport = way.transport(settings, guard);
  const url = `https://127.0.0.1:${supplier.port}/`;
  const taken: string[] = [];
  const others: string[] = [];
  const lost: string[] = [];
  let leftOut = 0;
  for (const play of plays) {
    current = play;
    const { error, headers: told, text } = await askFor(transport, url);
    const isClean = play.mayBeLeftOut === true && Object.keys(told).length === 0 && text === '';
    if (error === null && isClean) leftOut += 1;
    else if (error === null) taken.push(`${play.name}: ${JSON.stringify({ told, text })}`);
    else if (!/^SUPPLIER_(?:BROKEN_ANSWER|CLOSED)$/.test(error.code ?? ''))
      others.push(`${play.name}: ${error.code} ${error.message}`);
    current = null;
    const next = await askFor(transport, url);
    if (next.error !== null || next.text !== 'ok')
      lost.push(`behind ${play.name}: ${next.error?.message} ${next.text}`);
  }
  transport.close();
  supplier.stop();
  none(
    findings,
    `broken answers that were taken for whole ones (${leftOut} without the field)`,
    taken,
    plays.length,
  );
  none(findings, 'broken answers that were told as something else', others, plays.length);
  none(findings, 'calls behind them that did not get their own answer', lost, plays.length);
  findings.add('and all of them were asked for', used === plays.length * 2, `${used} streams`);
}
