import type { OutgoingHttpHeaders } from 'node:http';
import { errorBody, type Style } from './complaint';
import type { Fault, FaultKind, FaultOf } from './faults';
import type { Dialect, Reply, StreamReply } from './reply';
import { dataFrame, namedFrame } from './reply';

/** Playback does these steps one after the other. */
export type Step =
  | { readonly does: 'head'; readonly status: number; readonly headers: OutgoingHttpHeaders }
  | { readonly does: 'write'; readonly bytes: string | Buffer; readonly events: number }
  | { readonly does: 'wait'; readonly ms: number }
  | { readonly does: 'hang' }
  /** Hang up after what was written: the receiver sees an unfinished body. */
  | { readonly does: 'close' }
  /** A TCP reset. */
  | { readonly does: 'reset' }
  | { readonly does: 'end' };

export const streamHeaders: OutgoingHttpHeaders = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache',
  'transfer-encoding': 'chunked',
};

/** One thing to be sent and how many events it is. */
interface Piece {
  readonly bytes: string | Buffer;
  readonly events: number;
}

export function findFault<K extends FaultKind>(faults: readonly Fault[], kind: K): FaultOf<K> | undefined {
  return faults.find((fault): fault is FaultOf<K> => fault.kind === kind);
}

/** The steps that send a reply under its faults. */
export function scriptOf(
  reply: Reply,
  faults: readonly Fault[],
  between: (least: number, most: number) => number,
): Step[] {
  const delay = findFault(faults, 'delay');
  const waits = (reply.tempo?.delayMs ?? 0) + (delay ? between(delay.ms, delay.untilMs ?? delay.ms) : 0);
  const steps: Step[] = waits > 0 ? [{ does: 'wait', ms: waits }] : [];
  if (findFault(faults, 'hang')) return [...steps, { does: 'hang' }];
  const reset = findFault(faults, 'reset');
  if (reset && reset.after === undefined) return [...steps, { does: 'reset' }];
  const isStream = reply.kind === 'stream';
  const pieces = isStream ? streamPieces(reply, faults) : wholePieces(reply.body, faults);
  const timed = isStream ? tempoSteps(reply, faults) : new Map<number, Step[]>();
  const broken = breakSteps(pieces.length, isStream, faults, timed);
  steps.push(headOf(reply, broken));
  return steps.concat(bodySteps(pieces, timed, broken, faults, isStream ? reply.tempo?.paceMs : undefined));
}

function headOf(reply: Reply, broken: Break | undefined): Step {
  if (reply.kind === 'stream') return { does: 'head', status: 200, headers: streamHeaders };
  const length = reply.body.reduce((sum, chunk) => sum + chunk.length, 0);
  // A clean cut must look complete on the wire, so no length is promised.
  const promise = broken?.step.does === 'end' ? {} : { 'content-length': length };
  return { does: 'head', status: reply.status, headers: { ...reply.headers, ...promise } };
}

function streamPieces(reply: StreamReply, faults: readonly Fault[]): Piece[] {
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

/** Lines that are legal in an event stream and mean nothing. */
function withComments(frame: string, index: number): string {
  return `: keep-alive\n\n:\nid: ${index}\nretry: 3000\n${frame}`;
}

function malformedFrame(dialect: Dialect): string {
  if (dialect === 'messages')
    return 'event: content_block_delta\ndata: {"type":"content_block_delta","ind\n\n';
  if (dialect === 'responses') return 'event: response.output_text.delta\ndata: {"type":"response.outp\n\n';
  return 'data: {"id":"chatcmpl-broken","choices":[{"del\n\n';
}

/** The in-band error of each style, as if the supplier had answered `status`. */
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

/** A whole body is cut in pieces where a fault counts its bytes. */
function wholePieces(body: readonly Buffer[], faults: readonly Fault[]): Piece[] {
  const counted = ['cut', 'clean-cut', 'reset', 'stall'] as const;
  const fault = counted.map((kind) => findFault(faults, kind)).find((found) => found !== undefined);
  if (fault === undefined) return body.map((bytes) => ({ bytes, events: 0 }));
  const bytes = Buffer.concat(body);
  const at = fault.after ?? Math.floor(bytes.length / 2);
  return [bytes.subarray(0, at), bytes.subarray(at)].map((part) => ({ bytes: part, events: 0 }));
}

/** Waits before certain events. */
function tempoSteps(reply: StreamReply, faults: readonly Fault[]): Map<number, Step[]> {
  const steps = new Map<number, Step[]>();
  const first = (reply.tempo?.firstTokenMs ?? 0) + (findFault(faults, 'slow-first-token')?.ms ?? 0);
  if (first > 0) steps.set(reply.preamble, [{ does: 'wait', ms: first }]);
  return steps;
}

interface Break {
  readonly at: number;
  readonly step: Step;
}

/** The answer ends early here; a stall only adds a wait. */
function breakSteps(
  count: number,
  isStream: boolean,
  faults: readonly Fault[],
  timed: Map<number, Step[]>,
): Break | undefined {
  const place = (after: number | undefined): number => (isStream ? Math.min(after ?? 1, count) : 1);
  const stall = findFault(faults, 'stall');
  if (stall) {
    const at = place(stall.after);
    const step: Step = stall.ms === undefined ? { does: 'hang' } : { does: 'wait', ms: stall.ms };
    timed.set(at, [...(timed.get(at) ?? []), step]);
  }
  const cut = findFault(faults, 'cut');
  if (cut) return { at: place(cut.after), step: { does: 'close' } };
  const clean = findFault(faults, 'clean-cut');
  if (clean) return { at: place(clean.after), step: { does: 'end' } };
  const reset = findFault(faults, 'reset');
  return reset && { at: place(reset.after), step: { does: 'reset' } };
}

function bodySteps(
  pieces: readonly Piece[],
  timed: ReadonlyMap<number, readonly Step[]>,
  broken: Break | undefined,
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
  // Everything before a break reaches the wire first.
  return [
    ...steps,
    ...(timed.get(broken.at) ?? []),
    { does: 'wait', ms: broken.step.does === 'reset' ? 20 : 0 },
    broken.step,
  ];
}

function splitSteps({ bytes, events }: Piece, size: number): Step[] {
  const all = Buffer.from(bytes);
  const steps: Step[] = [];
  for (let start = 0; start < all.length; start += size) {
    const isLast = start + size >= all.length;
    const part = all.subarray(start, start + size);
    steps.push({ does: 'write', bytes: part, events: isLast ? events : 0 }, { does: 'wait', ms: 0 });
  }
  return steps;
}
