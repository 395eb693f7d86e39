import type { ServerResponse } from 'node:http';
import { Injectable } from '@nestjs/common';
import type { Caller } from '../../keys';
import { fault } from '../../kernel';
import { Settings } from '../../platform';
import { type HttpRequest, Idempotency } from '../../web';
import type { Operation } from '../operations/operation';
import type { Reply } from '../reply/reply';
import { Gates } from '../gates/gate-hooks';
import { StoredIds } from '../stored/stored-ids.service';
import { fileIn, recordingOf, soundTokensOf } from '../media/audio';
import { AudioMeter } from '../media/audio-meter';
import type { Form } from '../media/form';
import { CallGates } from './call-gates';
import { type Call, describeCall, withSound } from './describe';
import { type Inbound, inboundOf } from './inbound';
import { KeptAnswers } from './kept-answers';
import { replayOr } from './replay';
import { type AdmittedRequest, RequestGate } from './request-gate';
import type { Work } from './work';

/** Intake leads from a connection to a request that is understood. Each step waits only where it has to. */
@Injectable()
export class Intake {
  constructor(
    private readonly settings: Settings,
    private readonly gate: RequestGate,
    private readonly kept: KeptAnswers,
    private readonly storedIds: StoredIds,
    private readonly idempotency: Idempotency,
    private readonly gates: Gates,
    private readonly callGates: CallGates,
    private readonly meter: AudioMeter,
  ) {}

  /** The key, its rate, and a place among the open requests. */
  enter(http: HttpRequest, response: ServerResponse): AdmittedRequest | Promise<AdmittedRequest> {
    return this.gate.admit(http, response);
  }

  /** The bytes, kept as they came, and what they say. */
  receive(http: HttpRequest, caller: Caller): Inbound | Promise<Inbound> {
    return inboundOf(http, caller, this.settings);
  }

  /** The call has earlier answers in place of references to them. */
  describe(received: Inbound, operation: Operation): Call | Promise<Call> {
    const expanding = operation.keepsAnswers === true ? this.kept.expand(received) : received;
    return expanding instanceof Promise
      ? expanding.then((inbound) => this.describeExpanded(inbound, operation))
      : this.describeExpanded(expanding, operation);
  }

  private describeExpanded(inbound: Inbound, operation: Operation): Call | Promise<Call> {
    requireFormat(inbound, operation);
    if (inbound.form !== null) return this.describeForm(inbound, inbound.form, operation);
    const call = describeCall(inbound, operation, this.gates.trace());
    const recordings = call.measure?.recordings ?? [];
    if (call.stored.length === 0 && recordings.length === 0) return call;
    return this.checkStored(call).then(() =>
      recordings.length === 0 ? call : this.measureSound(call, recordings),
    );
  }

  /** Throws if the call refers to content in a supplier's account that its key was not given. */
  private async checkStored({ stored, operation, inbound }: Call): Promise<void> {
    if (stored.length === 0) return;
    // Hidden reasoning without its content is left out of these requests.
    const ids = operation.keepsAnswers === true ? stored.filter(({ kind }) => kind !== 'reasoning') : stored;
    await this.storedIds.check(inbound.caller.keyId, ids);
  }

  private async describeForm(inbound: Inbound, form: Form, operation: Operation): Promise<Call> {
    const [length = null] = await this.meter.measure([fileIn(form).bytes], null);
    return describeCall(inbound, operation, this.gates.trace(), recordingOf(form, length));
  }

  /** Assumes the longest possible recording of that size if the format is unknown. */
  private async measureSound(call: Call, recordings: readonly string[]): Promise<Call> {
    const files = recordings.map((base64) => Buffer.from(base64, 'base64'));
    const lengths = await this.meter.measure(files, 'webm');
    return withSound(call, soundTokensOf(lengths.filter((length) => length !== null)));
  }

  /** What gates of extensions let through, with their texts in place of the caller's. */
  pass(call: Call): Call | Promise<Call> {
    return this.callGates.pass(call);
  }

  /** A repeated request with the same `idempotency-key` gets the answer of the first. */
  once<T extends Reply | null>(
    received: Inbound,
    asked: { readonly call: Call; readonly work: Work },
    execute: () => Promise<T>,
  ): Promise<Reply | T> {
    return replayOr(this.idempotency, received, asked, execute);
  }
}

function requireFormat({ form }: Inbound, { takesForm }: Operation): void {
  if ((form !== null) === (takesForm === true)) return;
  throw fault('unsupported_media_type', {
    message: `The body of this route is ${takesForm ? 'a multipart form' : 'JSON'}.`,
  });
}
