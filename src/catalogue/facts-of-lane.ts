import { type FactsOverride, laneFacts, type LaneFacts, type VendorWithGenerations } from '../vendors';
import type { ModelKind } from './entities';
import type { ProviderView } from './views';

type ProviderAddress = Pick<ProviderView, 'style' | 'settings' | 'baseUrl'>;

/** True for Anthropic's own API; other services with the messages dialect need `profile: anthropic`. */
export const isAnthropicApi = ({
  settings: { profile },
  baseUrl,
}: Omit<ProviderAddress, 'style'>): boolean =>
  profile === undefined ? /(^|\.)anthropic\.com$/.test(new URL(baseUrl).hostname) : profile === 'anthropic';

function vendorBehind(provider: ProviderAddress): VendorWithGenerations | null {
  if (provider.style === 'openai-style') return provider.settings.profile === 'openai' ? 'openai' : null;
  return provider.style === 'messages-style' && isAnthropicApi(provider) ? 'anthropic' : null;
}

/** Facts of the lane's model: known ones, or assumed ones if an unknown name belongs to a vendor's own API. */
export const factsOfLane = (
  lane: { readonly facts: string | null; readonly upstreamModel: string },
  model: { readonly facts: FactsOverride; readonly kind: ModelKind },
  provider: ProviderAddress,
): LaneFacts =>
  laneFacts(
    lane.facts ?? lane.upstreamModel,
    model.facts,
    model.kind === 'chat' ? vendorBehind(provider) : null,
  );
