import type { OutgoingHttpHeaders } from 'node:http';
import { errorBody, type Style } from './complaint';
import type { Fault, FaultKind, FaultOf } from './faults';
import type { Dialect, Reply, StreamReply } from './reply';
import { dataFrame, namedFrame } from './reply';

/** Step of a playback. */
export type Step =
  | { readonly does: 'head'; readonly status: number; readonly headers: OutgoingHttpHeaders }
  | { readonly does: 'write'; readonly bytes: string | Buffer; readonly events: number }
  | { readonly does: 'wait'; readonly ms: number }
  | { readonly does: 'hang' }
  /** Closes the connection after what was written: the client sees an incomplete body. */
  | { readonly does: 'close' }
  /** TCP reset. */
  | { readonly does: 'reset' }
  | { readonly does: 'end' };

export const streamHeaders: OutgoingHttpHeaders = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache',
  'transfer-encoding': 'chunked',
};

/** A unit to be sent, and the number of events in it. */
interface ScriptPiece {
  readonly bytes: string | Buffer;
  readonly events: number;
}

export function findFault<K extends FaultKind>(faults: readonly Fault[], kind: K): FaultOf<K> | undefined {
  return faults.find((fault): fault is FaultOf<K> => fault.kind === kind);
}

/** Creates the steps that send a reply with its faults. */
export function scriptOf(
  reply: Reply,
  faults: readonly Fault[],
  between: (min: number, max: number) => number,
): Step[] {
  const delay = findFault(faults, 'delay');
  const waitMs = (reply.tempo?.delayMs ?? 0) + (delay ? between(delay.ms, delay.untilMs ?? delay.ms) : 0);
  const steps: Step[] = waitMs > 0 ? [{ does: 'wait', ms: waitMs }] : [];
  if (findFault(faults, 'hang')) return [...steps, { does: 'hang' }];
  const reset = findFault(faults, 'reset');
  if (reset && reset.after === undefined) return [...steps, { does: 'reset' }];
  const isStream = reply.kind === 'stream';
  const pieces = isStream ? streamPieces(reply, faults) : bodyPieces(reply.body, faults);
  const tempoStepsByIndex = isStream ? tempoSteps(reply, faults) : new Map<number, Step[]>();
  const breakPoint = breakSteps(pieces.length, isStream, faults, tempoStepsByIndex);
  steps.push(headOf(reply, breakPoint));
  return steps.concat(
    bodySteps(pieces, tempoStepsByIndex, breakPoint, faults, isStream ? reply.tempo?.paceMs : undefined),
  );
}

function headOf(reply: Reply, breakPoint: BreakPoint | undefined): Step {
  if (reply.kind === 'stream') return { does: 'head', status: 200, headers: streamHeaders };
  const length = reply.body.reduce((sum, chunk) => sum + chunk.length, 0);
  // A clean cut must look complete to the client, so no content length is sent.
  const promise = breakPoint?.step.does === 'end' ? {} : { 'content-length': length };
  return { does: 'head', status: reply.status, headers: { ...reply.headers, ...promise } };
}

function streamPieces(reply: StreamReply, faults: readonly Fault[]): ScriptPiece[] {
  let frames = [...reply.frames];
  const malformed = findFault(faults, 'malformed-event');
  if (malformed) frames.splice(malformed.after ?? reply.preamble, 0, malformedFrame(reply.dialect));
  const error = findFault(faults, 'error-event');
  if (error) frames.splice(error.after ?? reply.preamble, frames.length, errorFrame(reply.dialect, error));
  else if (findFault(faults, 'no-terminator')) frames = frames.slice(0, -reply.closing);
  if (findFault(faults, 'comments')) frames = frames.map(withComments);
  if (findFault(faults, 'crlf')) frames = frames.map((frame) => frame.replaceAll('\n', '\r\n'));
  return frames.map((bytes) => ({ bytes, events: 1 }));
}

/** Adds lines that are valid in an event stream but have no meaning. */
function withComments(frame: string, index: number): string {
  return `: keep-alive\n\n:\nid: ${index}\nretry: 3000\n${frame}`;
}

function malformedFrame(dialect: Dialect): string {
  if (dialect === 'messages')
    return 'event: content_block_delta\ndata: {"type":"content_block_delta","ind\n\n';
  if (dialect === 'responses') return 'event: response.output_text.delta\ndata: {"type":"response.outp\n\n';
  return 'data: {"id":"chatcmpl-broken","choices":[{"del\n\n';
}

/** In-band error event of each style, as if the supplier had failed with `status`. */
function errorFrame(dialect: Dialect, { status = 500, message }: FaultOf<'error-event'>): string {
  const style: Style = dialect === 'messages' || dialect === 'gemini' ? dialect : 'openai';
  const complaint = { status, message: message ?? 'The supplier failed in the middle of its answer.' };
  const code = status === 429 ? 'rate_limit_exceeded' : 'server_error';
  switch (dialect) {
    case 'gemini':
      return dataFrame(errorBody(style, complaint));
    case 'messages': {
      const body = errorBody(style, complaint);
      return namedFrame({ type: 'error', ...body });
    }
    case 'responses': {
      const error = { code, message: complaint.message };
      return namedFrame({
        type: 'response.failed',
        response: { id: 'resp_failed', status: 'failed', error },
      });
    }
    case 'chat':
    case 'completions':
      return dataFrame(errorBody(style, { ...complaint, code }));
  }
}

/** Splits a non-streaming body into pieces if a fault counts its bytes. */
function bodyPieces(body: readonly Buffer[], faults: readonly Fault[]): ScriptPiece[] {
  const byteFaultKinds = ['cut', 'clean-cut', 'reset', 'stall'] as const;
  const fault = byteFaultKinds.map((kind) => findFault(faults, kind)).find((match) => match !== undefined);
  if (fault === undefined) return body.map((bytes) => ({ bytes, events: 0 }));
  const bytes = Buffer.concat(body);
  const at = fault.after ?? Math.floor(bytes.length / 2);
  return [bytes.subarray(0, at), bytes.subarray(at)].map((part) => ({ bytes: part, events: 0 }));
}

/** Delays before certain events. */
function tempoSteps(reply: StreamReply, faults: readonly Fault[]): Map<number, Step[]> {
  const steps = new Map<number, Step[]>();
  const first = (reply.tempo?.firstTokenMs ?? 0) + (findFault(faults, 'slow-first-token')?.ms ?? 0);
  if (first > 0) steps.set(reply.preamble, [{ does: 'wait', ms: first }]);
  return steps;
}

interface BreakPoint {
  readonly at: number;
  readonly step: Step;
}

/** Returns the point at which the response ends early; a stall only adds a delay. */
function breakSteps(
  count: number,
  isStream: boolean,
  faults: readonly Fault[],
  timed: Map<number, Step[]>,
): BreakPoint | undefined {
  const positionOf = (after: number | undefined): number => (isStream ? Math.min(after ?? 1, count) : 1);
  const stall = findFault(faults, 'stall');
  if (stall) {
    const at = positionOf(stall.after);
    const step: Step = stall.ms === undefined ? { does: 'hang' } : { does: 'wait', ms: stall.ms };
    timed.set(at, [...(timed.get(at) ?? []), step]);
  }
  const cut = findFault(faults, 'cut');
  if (cut) return { at: positionOf(cut.after), step: { does: 'close' } };
  const clean = findFault(faults, 'clean-cut');
  if (clean) return { at: positionOf(clean.after), step: { does: 'end' } };
  const reset = findFault(faults, 'reset');
  return reset && { at: positionOf(reset.after), step: { does: 'reset' } };
}

function bodySteps(
  pieces: readonly ScriptPiece[],
  timed: ReadonlyMap<number, readonly Step[]>,
  broken: BreakPoint | undefined,
  faults: readonly Fault[],
  ownPace: number | undefined,
): Step[] {
  const split = findFault(faults, 'split')?.bytes;
  const pace = findFault(faults, 'pace')?.ms ?? ownPace;
  const steps: Step[] = [];
  for (const [index, piece] of pieces.slice(0, broken?.at).entries()) {
    steps.push(...(timed.get(index) ?? []));
    if (pace !== undefined && index > 0) steps.push({ does: 'wait', ms: pace });
    steps.push(...(split === undefined ? [{ does: 'write', ...piece } as const] : splitSteps(piece, split)));
  }
  if (broken === undefined) return [...steps, ...(timed.get(pieces.length) ?? []), { does: 'end' }];
  // Everything before the break is sent first.
  return [
    ...steps,
    ...(timed.get(broken.at) ?? []),
    { does: 'wait', ms: broken.step.does === 'reset' ? 20 : 0 },
    broken.step,
  ];
}

function splitSteps({ bytes, events }: ScriptPiece, size: number): Step[] {
  const all = Buffer.from(bytes);
  const steps: Step[] = [];
  for (let start = 0; start < all.length; start += size) {
    const isLast = start + size >= all.length;
    const part = all.subarray(start, start + size);
    steps.push({ does: 'write', bytes: part, events: isLast ? events : 0 }, { does: 'wait', ms: 0 });
  }
  return steps;
}
