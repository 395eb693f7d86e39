import { Findings, inParallel, runProof } from '../../test/system/findings';
import { ToolConversation } from './conversation';
import { lanePerVendor, otherAccountLanes, type VendorLane, vendorLanes } from './lanes';
import { minimumOf, requestsOf } from './requests';
import { type CallerName, type VendorResponse, paths, VendorTestbed, type VendorCall } from './testbed';

const callers: readonly CallerName[] = ['chat', 'messages', 'responses'];
const MAX_SHOWN = 6;
const QUESTION = '[[tool=count({"count":1})]] How many are there?';

interface VendorCheck {
  readonly kind: string;
  readonly passed: boolean;
  readonly what: string;
  /** The vendor's rule that was broken, if any. */
  readonly why: string;
  readonly actual: string;
}

/**
 * Sends every model everything that some vendor rejects: a converted request is answered or rejected by the gateway,
 * never by a vendor. In the vendor's own dialect bytes are forwarded unchanged, and its error text reaches the client
 * as a 400; no circuit breaker opens for such errors.
 */
class VendorProof {
  private readonly rows: VendorCheck[] = [];
  private readonly refusals = new Map<string, number>();
  /** Number of times a client received the error text of a vendor whose dialect it speaks. */
  private forwardedErrors = 0;
  /** Last call that was checked; a lane handles one call at a time. */
  private latest = 0;

  constructor(private readonly testbed: VendorTestbed) {}

  async run(): Promise<void> {
    await inParallel(4, vendorLanes, async (lane) => {
      for (const caller of callers) {
        for (const { name, body } of requestsOf[caller]) {
          const requestBody = { model: lane.model, ...minimumOf[caller], ...body };
          await this.judge(
            `requests of ${caller}`,
            `${lane.upstream}: ${name}`,
            lane,
            caller,
            requestBody,
            'own',
          );
        }
        await this.proveConversation(`conversations of ${caller}`, caller, [lane, lane, lane]);
      }
    });
    for (const caller of callers) {
      for (const first of lanePerVendor)
        for (const second of lanePerVendor)
          if (first !== second)
            await this.proveConversation(`moves of ${caller}`, caller, [first, second, first]);
      for (const other of otherAccountLanes) {
        const own = vendorLanes.filter(({ upstream }) => upstream === other.upstream);
        for (const lane of own)
          await this.proveConversation(`accounts of ${caller}`, caller, [lane, other, lane]);
      }
    }
  }

  end(): void {
    const findings = new Findings('prove:vendors');
    for (const [kind, all] of Map.groupBy(this.rows, (row) => row.kind)) {
      const failed = all.filter(({ passed: held }) => !held);
      for (const [why, rows] of Map.groupBy(failed, (row) => row.why)) {
        const [first] = rows;
        const models = [...new Set(rows.map(({ what }) => what))].slice(0, MAX_SHOWN).join(' · ');
        process.stdout.write(`FAILED  ${kind}, ${rows.length} times: ${why}\n        ${models}\n`);
        process.stdout.write(`        the caller heard: ${first?.actual ?? ''}\n`);
      }
      findings.addCases(kind, all.length, failed.length);
    }
    for (const [said, count] of this.refusals)
      process.stdout.write(`refused by the gateway itself, ${count} times: ${said}\n`);
    process.stdout.write(
      `refused by the vendor in the caller's own dialect, ${this.forwardedErrors} times\n`,
    );
    findings.end();
  }

  /** A tool round on each of the lanes in turn, in one conversation. */
  private async proveConversation(
    kind: string,
    caller: CallerName,
    lanes: readonly VendorLane[],
  ): Promise<void> {
    const conversation = new ToolConversation(caller);
    const route = lanes.map(({ model }) => model).join(' → ');
    for (const lane of lanes) {
      conversation.say(QUESTION);
      for (let round = 0; round < 2; round += 1) {
        const response = await this.judge(
          kind,
          route,
          lane,
          caller,
          conversation.bodyFor(lane.model),
          'never',
        );
        if (response === undefined) return;
        const calls = conversation.addResponse(response.body);
        if (calls !== (round === 0 ? 1 : 0))
          return this.addCheck({
            kind,
            passed: false,
            what: route,
            why: `${calls} calls in round ${round + 1}`,
            actual: response.text.slice(0, 300),
          });
      }
    }
  }

  /** `own`: a mistake can be rejected, as above. Returns the response, if any. */
  private async judge(
    kind: string,
    what: string,
    lane: VendorLane,
    caller: CallerName,
    body: object,
    canReject: 'own' | 'never',
  ): Promise<VendorResponse | undefined> {
    const before = this.latest;
    const response = await this.testbed.send(caller, body);
    const all = await this.testbed.callsAfter(before);
    this.latest = Math.max(this.latest, ...all.map(({ id }) => id));
    const calls = all.filter(({ model }) => model === lane.upstream);
    const rejectedCall = calls.find(({ status }) => status !== 200);
    const isForwarded = calls.every(({ path }) => path === paths[caller]);
    // In the client's own dialect, reasoning that the vendor cannot read is removed on the second attempt.
    if (response.status === 200 && (rejectedCall === undefined || isForwarded)) {
      this.addCheck({ kind, passed: true, what, why: '', actual: '' });
      return response;
    }
    const isOwn = canReject === 'own' && response.status === 400 && calls.length === 0;
    const isForwardedError = canReject === 'own' && isForwarded && isVendorError(response, calls);
    const actual = `${response.status} ${messageIn(response)}`;
    if (isOwn) this.refusals.set(actual, (this.refusals.get(actual) ?? 0) + 1);
    if (isForwardedError) this.forwardedErrors += 1;
    const why = rejectedCall
      ? (rejectedCall.rule ?? `${rejectedCall.path} answered ${rejectedCall.status}`)
      : 'no vendor refused';
    this.addCheck({ kind, passed: isOwn || isForwardedError, what, why, actual: actual });
    return undefined;
  }

  private addCheck(row: VendorCheck): void {
    this.rows.push(row);
  }
}

/** Tells whether the client received the vendor's error text after a single call. */
const isVendorError = ({ status, text }: VendorResponse, calls: readonly VendorCall[]): boolean => {
  const [only] = calls;
  return status === 400 && calls.length === 1 && !!only?.words && text.includes(escapeJson(only.words));
};

/** Escapes text as within a JSON string. */
const escapeJson = (words: string): string => JSON.stringify(words).slice(1, -1);

const messageIn = ({ body, text }: VendorResponse): string => {
  const { error } = (body ?? {}) as { error?: { message?: string; code?: string } };
  return `${error?.code ?? ''} ${(error?.message ?? text).slice(0, 160)}`;
};

async function main(): Promise<void> {
  const testbed = await VendorTestbed.open([...vendorLanes, ...otherAccountLanes]);
  try {
    const proof = new VendorProof(testbed);
    await proof.run();
    proof.end();
  } finally {
    await testbed.close();
  }
}

runProof(main);
