import type { Findings } from '../../test/system/findings';
import { nameOf } from './parts';
import { type RequestOutcome, PAGES, type ExtensionTestbed, exportsOf } from './testbed';
import { type FaultTrial, runTrials } from './trials';

type PageHandlerFaults = Readonly<
  Record<'page' | 'data' | 'action' | 'csv', Readonly<Record<string, unknown>>>
>;

const faults = exportsOf(`${PAGES}/faults.cjs`) as PageHandlerFaults;

/** Repeated failures are logged every ten seconds. */
const LOGGED_WITHIN_MS = 15_000;
/** A handler can take half a minute. */
const VISIT_DEADLINE_MS = 60_000;

/** A file download that has started cannot be rejected: it ends early. */
async function visit(
  { node: { url } }: ExtensionTestbed,
  path: string,
  cookie: string,
  method: string,
): Promise<RequestOutcome> {
  const answer = await fetch(url + path, {
    method,
    redirect: 'manual',
    headers: { cookie, origin: url, accept: 'text/html' },
    signal: AbortSignal.timeout(VISIT_DEADLINE_MS),
  });
  const text = await answer.text().catch(() => null);
  return { status: text === null ? 502 : answer.status, text: text ?? '', cost: null };
}

export async function provePages(findings: Findings, testbed: ExtensionTestbed): Promise<void> {
  const cookie = await testbed.ownerCookie();
  for (const [kind, ways] of Object.entries(faults)) {
    const trials = Object.keys(ways).map((fault): FaultTrial => {
      const path = `/x/pages/${kind}-${nameOf(fault)}`;
      return {
        what: fault,
        culprit: '"extension":"pages"',
        isRefused: true,
        naming: 'new line',
        withinMs: LOGGED_WITHIN_MS,
        ask: (bed) => visit(bed, path, cookie, kind === 'action' ? 'POST' : 'GET'),
      };
    });
    await runTrials(findings, testbed, `handlers of pages: ${kind}`, trials);
  }
}
