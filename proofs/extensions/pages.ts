import type { Findings } from '../../test/system/findings';
import { nameOf } from './parts';
import { type Came, PAGES, type Testbed, offeredBy } from './testbed';
import { type Trial, tryAll } from './trials';

type Faults = Readonly<Record<'page' | 'data' | 'action' | 'csv', Readonly<Record<string, unknown>>>>;

const faults = offeredBy(`${PAGES}/faults.cjs`) as Faults;

/** A failure like one before is told at the end of ten seconds. */
const REPEATED_WITHIN_MS = 15_000;
/** A handler has half a minute. */
const VISIT_DEADLINE_MS = 60_000;

/** A file that has begun cannot be refused: it ends too early. */
async function visit(
  { node: { url } }: Testbed,
  path: string,
  cookie: string,
  method: string,
): Promise<Came> {
  const answer = await fetch(url + path, {
    method,
    redirect: 'manual',
    headers: { cookie, origin: url, accept: 'text/html' },
    signal: AbortSignal.timeout(VISIT_DEADLINE_MS),
  });
  const text = await answer.text().catch(() => null);
  return { status: text === null ? 502 : answer.status, text: text ?? '', cost: null };
}

export async function provePages(findings: Findings, testbed: Testbed): Promise<void> {
  const cookie = await testbed.ownerCookie();
  for (const [kind, ways] of Object.entries(faults)) {
    const trials = Object.keys(ways).map((fault): Trial => {
      const path = `/x/pages/${kind}-${nameOf(fault)}`;
      return {
        what: fault,
        culprit: '"extension":"pages"',
        isRefused: true,
        naming: 'new line',
        withinMs: REPEATED_WITHIN_MS,
        ask: (bed) => visit(bed, path, cookie, kind === 'action' ? 'POST' : 'GET'),
      };
    });
    await tryAll(findings, testbed, `handlers of pages: ${kind}`, trials);
  }
}
