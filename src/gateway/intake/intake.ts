import type { ServerResponse } from 'node:http';
import { Injectable } from '@nestjs/common';
import type { Caller } from '../../keys';
import { fault, type MaybePromise, whenReady } from '../../kernel';
import { Settings } from '../../platform';
import { type HttpRequest, Idempotency } from '../../web';
import type { GatewayOperation } from '../operations/operation';
import type { Reply } from '../reply/reply';
import { Gates } from '../gates/gate-hooks';
import { StoredIdsService } from '../stored/stored-ids.service';
import { getRecordingFile, recordingOf, soundTokensOf } from '../media/audio';
import { AudioMeter } from '../media/audio-meter';
import type { MultipartForm } from '../media/multipart-form';
import { CallGates } from './call-gates';
import { type GatewayCall, describeCall, withSound } from './describe';
import { type Inbound, inboundOf } from './inbound';
import { StoredResponses } from './stored-responses';
import { runOrReplay } from './replay-reply';
import { type AdmittedRequest, RequestGate } from './request-gate';
import type { RequestWork } from './work';

/** Turns a connection into a described request. Each step awaits only if it must. */
@Injectable()
export class Intake {
  constructor(
    private readonly settings: Settings,
    private readonly gate: RequestGate,
    private readonly storedResponses: StoredResponses,
    private readonly storedIds: StoredIdsService,
    private readonly idempotency: Idempotency,
    private readonly gates: Gates,
    private readonly callGates: CallGates,
    private readonly meter: AudioMeter,
  ) {}

  admit(http: HttpRequest, response: ServerResponse): MaybePromise<AdmittedRequest> {
    return this.gate.admit(http, response);
  }

  receive(http: HttpRequest, caller: Caller): MaybePromise<Inbound> {
    return inboundOf(http, caller, this.settings);
  }

  describe(inbound: Inbound, operation: GatewayOperation): MaybePromise<GatewayCall> {
    const expanding = operation.keepsAnswers === true ? this.storedResponses.expand(inbound) : inbound;
    return whenReady(expanding, (expandedInbound) => this.describeExpanded(expandedInbound, operation));
  }

  private describeExpanded(inbound: Inbound, operation: GatewayOperation): MaybePromise<GatewayCall> {
    requireFormat(inbound, operation);
    if (inbound.form !== null) return this.describeForm(inbound, inbound.form, operation);
    const call = describeCall(inbound, operation, this.gates.createTrace());
    const recordings = call.measure?.recordings ?? [];
    if (call.stored.length === 0 && recordings.length === 0) return call;
    return this.checkStored(call).then(() =>
      recordings.length === 0 ? call : this.measureSound(call, recordings),
    );
  }

  /** Throws if the call refers to content in a supplier's account that its key does not own. */
  private async checkStored({ stored, operation, inbound }: GatewayCall): Promise<void> {
    if (stored.length === 0) return;
    // Hidden reasoning without content is removed from these requests elsewhere.
    const ids = operation.keepsAnswers === true ? stored.filter(({ kind }) => kind !== 'reasoning') : stored;
    await this.storedIds.check(inbound.caller.keyId, ids);
  }

  private async describeForm(
    inbound: Inbound,
    form: MultipartForm,
    operation: GatewayOperation,
  ): Promise<GatewayCall> {
    const [length = null] = await this.meter.measure([getRecordingFile(form).bytes], null);
    return describeCall(inbound, operation, this.gates.createTrace(), recordingOf(form, length));
  }

  /** Assumes the longest possible recording of that size if the format is unknown. */
  private async measureSound(call: GatewayCall, recordings: readonly string[]): Promise<GatewayCall> {
    const files = recordings.map((base64) => Buffer.from(base64, 'base64'));
    const lengths = await this.meter.measure(files, 'webm');
    return withSound(call, soundTokensOf(lengths.filter((length) => length !== null)));
  }

  pass(call: GatewayCall): MaybePromise<GatewayCall> {
    return this.callGates.pass(call);
  }

  runOnce<T extends Reply | null>(
    inbound: Inbound,
    request: { readonly call: GatewayCall; readonly work: RequestWork },
    execute: () => Promise<T>,
  ): Promise<Reply | T> {
    return runOrReplay(this.idempotency, inbound, request, execute);
  }
}

function requireFormat({ form }: Inbound, { takesForm }: GatewayOperation): void {
  if ((form !== null) === (takesForm === true)) return;
  throw fault('unsupported_media_type', {
    message: `The body of this route is ${takesForm ? 'a multipart form' : 'JSON'}.`,
  });
}
