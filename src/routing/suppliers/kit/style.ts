import type { IncomingHttpHeaders } from 'node:http';
import type * as contract from '#extension';
import type { Credential, LaneView, ProviderView } from '../../../catalogue';
import type { Fault, ParsedJsonObject, ByteParts } from '../../../kernel';
import type { Dropped, SupplierError, EncodingTarget } from '../../../protocol';

export type { ListCall, Operations, PictureRule } from '#extension';

/*
 * Internal versions of the extension contract for supplier styles. Built-in styles receive complete views, and the
 * positions of a body's fields in its bytes, so that long fields are edited without printing them again.
 */

export interface JsonCallBody extends contract.JsonBody {
  readonly text: ParsedJsonObject;
}
export interface CallFormFile extends contract.FormFile {
  readonly bytes: Buffer;
}
export interface FormCallBody extends contract.FormBody {
  readonly files: readonly CallFormFile[];
}
export type CallBody = JsonCallBody | FormCallBody;

export interface StyleCall extends contract.OutgoingCall {
  readonly lane: LaneView;
  readonly credential: Credential | null;
  readonly body: CallBody;
  /** The caller's headers; only those that the style lists are forwarded. */
  readonly headers: IncomingHttpHeaders;
}

export interface PreparedStyleCall extends contract.PreparedCall {
  readonly method: 'POST';
  readonly headers: Record<string, string>;
  readonly body: ByteParts;
  readonly dropped: readonly Dropped[];
}

export interface StyleUnframer extends contract.Unframer {
  push(chunk: Buffer): Buffer | Fault;
  end(): Fault | undefined;
}

export interface CoreStyle extends contract.SupplierStyle {
  needsCredential(provider: ProviderView): boolean;
  operations(provider: ProviderView): contract.Operations;
  fields(provider: ProviderView): contract.FieldPolicy;
  target(lane: LaneView): EncodingTarget;
  pictures?(lane: LaneView): contract.PictureRule;
  prepare(call: StyleCall): PreparedStyleCall;
  modelList?(provider: ProviderView, credential: Credential | null): contract.ListCall | null;
  readError(body: unknown, headers: IncomingHttpHeaders): SupplierError | undefined;
  unwrap?(body: Buffer): Buffer | Fault;
  unframer?(): StyleUnframer;
}
