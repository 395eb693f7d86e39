import type { GateRequest } from '#extension';
import { recordedAttribution } from '../../keys';
import type { GatewayCall } from './describe';
import { textsOf } from './request-texts';

const NO_TAGS: readonly string[] = Object.freeze([]);

/** A request as gates see it. Frozen, as several gates can hold it. */
export const gateRequestOf = (call: GatewayCall): GateRequest => Object.freeze(new GateRequestView(call));

/** A class because an object literal with a getter takes as long to create as the rest of a gate's work. */
class GateRequestView implements GateRequest {
  readonly requestId: string;
  readonly operation: string;
  readonly model: string;
  readonly stream: boolean;
  readonly region: string | null;
  readonly endUser: string | null;
  readonly tags: readonly string[];
  readonly key: GateRequest['key'];
  readonly #call: GatewayCall;
  #texts: GateRequest['texts'] | null = null;

  constructor(call: GatewayCall) {
    const { caller, requestId } = call.inbound;
    const { userId, organisationId, departmentId, projectId } = recordedAttribution(caller);
    this.#call = call;
    this.requestId = requestId;
    this.operation = call.operation.name;
    this.model = call.model;
    this.stream = call.stream;
    this.region = call.region;
    this.endUser = call.endUser;
    this.tags = call.tags === null ? NO_TAGS : Object.freeze([...call.tags]);
    this.key = Object.freeze({ id: caller.keyId, userId, organisationId, departmentId, projectId });
  }

  get texts(): GateRequest['texts'] {
    return (this.#texts ??= Object.freeze(textsOf(this.#call).map(({ piece }) => piece)));
  }

  toJSON(): GateRequest {
    return { ...this, texts: this.texts };
  }
}
