import type { IncomingHttpHeaders } from 'node:http';
import { editedJsonObject, type MaybePromise, whenReady } from '../../kernel';
import { withoutListMark } from '../../routing';
import { requestFields } from '../../vendors';
import type { OmittedParts } from '../admission';
import { betasIn, type GatewayCall, type Inbound, withoutParts } from '../intake';
import { isConversation } from '../operations/operation';

/** Returns the request without the parts that a lane does not get; a promise only for a long body. */
export function withoutOmitted(
  { inbound, operation }: GatewayCall,
  { fields, parts, betas }: OmittedParts,
): MaybePromise<Inbound> {
  const headers = betas.size === 0 ? inbound.headers : withoutBetas(inbound.headers, betas);
  const { form, body } = inbound;
  if (form !== null) {
    const remainingFields = form.fields.filter(([name]) => !fields.has(withoutListMark(name)));
    return { ...inbound, headers, form: { ...form, fields: remainingFields } };
  }
  const set =
    parts.size > 0 && isConversation(operation)
      ? withoutParts(body, requestFields[operation.dialect.name], parts)
      : {};
  const edited = editedJsonObject(inbound, { set, remove: fields });
  return whenReady(edited, (text) => ({ ...inbound, headers, ...text }));
}

function withoutBetas(headers: IncomingHttpHeaders, betas: ReadonlySet<string>): IncomingHttpHeaders {
  const remainingBetas = betasIn(String(headers['anthropic-beta'])).filter((beta) => !betas.has(beta));
  const { 'anthropic-beta': _all, ...others } = headers;
  return remainingBetas.length === 0 ? others : { ...others, 'anthropic-beta': remainingBetas.join(',') };
}
