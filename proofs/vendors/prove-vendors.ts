import { Findings, inParallel, runProof } from '../../test/system/findings';
import { Conversation } from './conversation';
import { oneOfEach, otherAccount, type VendorLane, vendorLanes } from './lanes';
import { leastOf, requestsOf } from './requests';
import { type CallerName, type Heard, paths, Testbed, type VendorCall } from './testbed';

const callers: readonly CallerName[] = ['chat', 'messages', 'responses'];
const MOST_SHOWN = 6;
const ASKED = '[[tool=count({"count":1})]] How many are there?';

interface Row {
  readonly kind: string;
  readonly held: boolean;
  readonly what: string;
  /** The rule of the vendor, where one was broken. */
  readonly why: string;
  readonly heard: string;
}

/**
 * Asks every model for everything that some vendor refuses. A caller of another dialect gets an answer, or a
 * refusal of the gateway's own: a vendor never refuses a translation. In the vendor's own dialect the
 * caller's bytes go on untouched, so a mistake in them is the caller's. The vendor is asked once, and its
 * words reach the caller as a 400. Conversations are answered in every dialect, and they follow on the same
 * lanes: none may rest for those mistakes.
 */
class Proof {
  private readonly rows: Row[] = [];
  private readonly refusals = new Map<string, number>();
  /** A caller heard the words of a vendor so often whose dialect it speaks. */
  private told = 0;
  /** The last call that was looked at; a lane asks one thing at a time. */
  private latest = 0;

  constructor(private readonly testbed: Testbed) {}

  async run(): Promise<void> {
    await inParallel(4, vendorLanes, async (lane) => {
      for (const caller of callers) {
        for (const { name, body } of requestsOf[caller]) {
          const asked = { model: lane.model, ...leastOf[caller], ...body };
          await this.judge(`requests of ${caller}`, `${lane.upstream}: ${name}`, lane, caller, asked, 'own');
        }
        await this.hold(`conversations of ${caller}`, caller, [lane, lane, lane]);
      }
    });
    for (const caller of callers) {
      for (const first of oneOfEach)
        for (const second of oneOfEach)
          if (first !== second) await this.hold(`moves of ${caller}`, caller, [first, second, first]);
      for (const other of otherAccount) {
        const own = vendorLanes.filter(({ upstream }) => upstream === other.upstream);
        for (const lane of own) await this.hold(`accounts of ${caller}`, caller, [lane, other, lane]);
      }
    }
  }

  end(): void {
    const findings = new Findings('prove:vendors');
    for (const [kind, all] of Map.groupBy(this.rows, (row) => row.kind)) {
      const failed = all.filter(({ held }) => !held);
      for (const [why, rows] of Map.groupBy(failed, (row) => row.why)) {
        const [first] = rows;
        const models = [...new Set(rows.map(({ what }) => what))].slice(0, MOST_SHOWN).join(' · ');
        process.stdout.write(`FAILED  ${kind}, ${rows.length} times: ${why}\n        ${models}\n`);
        process.stdout.write(`        the caller heard: ${first?.heard ?? ''}\n`);
      }
      findings.many(kind, all.length, failed.length);
    }
    for (const [said, count] of this.refusals)
      process.stdout.write(`refused by the gateway itself, ${count} times: ${said}\n`);
    process.stdout.write(`refused by the vendor in the caller's own dialect, ${this.told} times\n`);
    findings.end();
  }

  /** A round of tools on each of the lanes, one after the other, in one conversation. */
  private async hold(kind: string, caller: CallerName, lanes: readonly VendorLane[]): Promise<void> {
    const conversation = new Conversation(caller);
    const way = lanes.map(({ model }) => model).join(' → ');
    for (const lane of lanes) {
      conversation.say(ASKED);
      for (let round = 0; round < 2; round += 1) {
        const heard = await this.judge(kind, way, lane, caller, conversation.bodyFor(lane.model), 'never');
        if (heard === undefined) return;
        const calls = conversation.hear(heard.body);
        if (calls !== (round === 0 ? 1 : 0))
          return this.note({
            kind,
            held: false,
            what: way,
            why: `${calls} calls in round ${round + 1}`,
            heard: heard.text.slice(0, 300),
          });
      }
    }
  }

  /** `own`: a mistake may be refused, as above. Returns the answer where there is one. */
  private async judge(
    kind: string,
    what: string,
    lane: VendorLane,
    caller: CallerName,
    body: object,
    mayRefuse: 'own' | 'never',
  ): Promise<Heard | undefined> {
    const before = this.latest;
    const heard = await this.testbed.ask(caller, body);
    const all = await this.testbed.callsAfter(before);
    this.latest = Math.max(this.latest, ...all.map(({ id }) => id));
    const calls = all.filter(({ model }) => model === lane.upstream);
    const refused = calls.find(({ status }) => status !== 200);
    const isForwarded = calls.every(({ path }) => path === paths[caller]);
    // Of the caller's own dialect, reasoning that its vendor cannot read is left out at the second try.
    if (heard.status === 200 && (refused === undefined || isForwarded)) {
      this.note({ kind, held: true, what, why: '', heard: '' });
      return heard;
    }
    const isOwn = mayRefuse === 'own' && heard.status === 400 && calls.length === 0;
    const isTold = mayRefuse === 'own' && isForwarded && tells(heard, calls);
    const said = `${heard.status} ${messageIn(heard)}`;
    if (isOwn) this.refusals.set(said, (this.refusals.get(said) ?? 0) + 1);
    if (isTold) this.told += 1;
    const why = refused
      ? (refused.rule ?? `${refused.path} answered ${refused.status}`)
      : 'no vendor refused';
    this.note({ kind, held: isOwn || isTold, what, why, heard: said });
    return undefined;
  }

  private note(row: Row): void {
    this.rows.push(row);
  }
}

/** The caller hears, in the vendor's words, what the vendor refused when it was asked once. */
const tells = ({ status, text }: Heard, calls: readonly VendorCall[]): boolean => {
  const [only] = calls;
  return status === 400 && calls.length === 1 && !!only?.words && text.includes(quoted(only.words));
};

/** As it stands within a JSON text. */
const quoted = (words: string): string => JSON.stringify(words).slice(1, -1);

const messageIn = ({ body, text }: Heard): string => {
  const { error } = (body ?? {}) as { error?: { message?: string; code?: string } };
  return `${error?.code ?? ''} ${(error?.message ?? text).slice(0, 160)}`;
};

async function main(): Promise<void> {
  const testbed = await Testbed.open([...vendorLanes, ...otherAccount]);
  try {
    const proof = new Proof(testbed);
    await proof.run();
    proof.end();
  } finally {
    await testbed.close();
  }
}

runProof(main);
