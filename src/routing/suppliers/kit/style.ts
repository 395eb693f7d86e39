import type { IncomingHttpHeaders } from 'node:http';
import type * as contract from '#extension';
import type { Credential, LaneView, ProviderView } from '../../../catalogue';
import type { Fault, JsonObjectText, Pieces } from '../../../kernel';
import type { Dropped, SupplierError, Target } from '../../../protocol';

export type { ListCall, Operations, PictureRule } from '#extension';

/*
 * The contract of extensions says what a style of suppliers is. The service's own keep it, and see more: views whole,
 * and where the fields of a body stand in its bytes, so that long ones are edited without being printed anew.
 */

export interface JsonBody extends contract.JsonBody {
  readonly text: JsonObjectText;
}
export interface FormFile extends contract.FormFile {
  readonly bytes: Buffer;
}
export interface FormBody extends contract.FormBody {
  readonly files: readonly FormFile[];
}
export type OutgoingBody = JsonBody | FormBody;

export interface OutgoingCall extends contract.OutgoingCall {
  readonly lane: LaneView;
  readonly credential: Credential | null;
  readonly body: OutgoingBody;
  /** The caller's own; only what the style's list names goes further. */
  readonly headers: IncomingHttpHeaders;
}

export interface PreparedCall extends contract.PreparedCall {
  readonly method: 'POST';
  readonly headers: Record<string, string>;
  readonly body: Pieces;
  readonly dropped: readonly Dropped[];
}

export interface Unframer extends contract.Unframer {
  push(chunk: Buffer): Buffer | Fault;
  end(): Fault | undefined;
}

export interface SupplierStyle extends contract.SupplierStyle {
  needsCredential(provider: ProviderView): boolean;
  operations(provider: ProviderView): contract.Operations;
  fields(provider: ProviderView): contract.FieldPolicy;
  target(lane: LaneView): Target;
  pictures?(lane: LaneView): contract.PictureRule;
  prepare(call: OutgoingCall): PreparedCall;
  modelList?(provider: ProviderView, credential: Credential | null): contract.ListCall | null;
  readError(body: unknown, headers: IncomingHttpHeaders): SupplierError | undefined;
  unwrap?(body: Buffer): Buffer | Fault;
  unframer?(): Unframer;
}
