import { fault } from '../kernel';
import type { AddressGuard } from '../platform';
import { tokenUrlOf } from './credential';
import type { Model, Provider } from './entities';
import { MAX_REDIRECTS } from './snapshot';

const NAME = /^[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,127}$/;
/** Stands for the model that the router picks, so no model or alias can use this name. */
const RESERVED = 'auto';

export function checkName(name: string, param: 'model' | 'alias'): void {
  if (name === RESERVED) {
    throw fault('alias_redirect_conflict', {
      param,
      message: `"${RESERVED}" is a name of the service itself.`,
    });
  }
  if (!NAME.test(name)) {
    throw fault('validation_error', {
      param,
      message:
        'A model name has up to 128 letters, digits and . _ : / @ + - and begins with a letter or digit.',
    });
  }
}

export function checkProvider({ name, baseUrl }: Partial<Pick<Provider, 'name' | 'baseUrl'>>): void {
  if (name?.trim() === '')
    throw fault('invalid_provider', { param: 'name', message: 'A provider needs a name.' });
  if (baseUrl === undefined) return;
  const address = URL.parse(baseUrl);
  const isPlainUrl =
    address !== null && /^https?:$/.test(address.protocol) && address.username + address.password === '';
  if (isPlainUrl && address.search + address.hash === '') return;
  throw fault('invalid_provider', {
    param: 'base_url',
    message: 'The base address has to be an http or https URL without credentials, query and fragment.',
  });
}

/**
 * Checks that the operator's rules permit connecting to the provider's addresses. Every connection is checked again.
 */
export function checkAddresses(
  guard: Pick<AddressGuard, 'checkBaseUrl'>,
  { baseUrl, settings }: Partial<Pick<Provider, 'baseUrl' | 'settings'>>,
): void {
  const tokenUrl = settings && tokenUrlOf(settings);
  for (const [param, url] of [
    ['base_url', baseUrl] as const,
    ['settings.oauth.token_url', tokenUrl] as const,
  ]) {
    const result = url === undefined ? undefined : guard.checkBaseUrl(url);
    if (result?.ok === false)
      throw fault('invalid_provider', { param, message: `The address ${result.error}.` });
  }
}

/** Rejects a target of another kind or a fixture: every call of the redirected name would fail. */
export function checkTarget(
  model: Pick<Model, 'name' | 'kind'>,
  target: Pick<Model, 'name' | 'kind' | 'fixture'>,
): void {
  const names = { model: model.name, target: target.name };
  if (target.fixture) {
    throw fault('alias_redirect_conflict', {
      param: 'redirect_to',
      message: `${target.name} is for trying the administration and is never called.`,
      details: { reason: 'redirect-fixture', ...names },
    });
  }
  if (target.kind === model.kind) return;
  throw fault('alias_redirect_conflict', {
    param: 'redirect_to',
    message: `${model.name} is of kind ${model.kind} and ${target.name} of kind ${target.kind}: no call would be answered.`,
    details: { reason: 'redirect-kind', ...names },
  });
}

/** Rejects loops and chains of more than five hops in the redirects as they would be after the change. */
export function checkRedirects(redirects: ReadonlyMap<number, number | null>): void {
  for (const start of redirects.keys()) {
    let hops = 0;
    for (let next = redirects.get(start); next !== null && next !== undefined; next = redirects.get(next)) {
      hops += 1;
      if (next === start || hops > MAX_REDIRECTS) {
        throw fault('alias_redirect_conflict', {
          param: 'redirect_to',
          message: `Redirects may not lead in a circle, nor over more than ${MAX_REDIRECTS} hops.`,
        });
      }
    }
  }
}
