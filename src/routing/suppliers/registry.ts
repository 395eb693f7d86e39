import type * as contract from '#extension';
import type { CredentialKind, LaneView, ModelKind, ModelView, ProviderView } from '../../catalogue';
import { ExtensionRefused, type Owned } from '../../extensions';
import { fault } from '../../kernel';
import type { Wire } from '../../vendors';
import { bedrock } from './bedrock/bedrock';
import { cohereRerank } from './cohere-rerank/cohere-rerank';
import { guardedStyle, type ReportFailure } from './extensions/guarded-style';
import { geminiStyle } from './gemini/gemini-style';
import {
  type OperationName,
  type Operations,
  type PictureRule,
  picturesOf,
  type SupplierStyle,
  type WireDialect,
} from './kit';
import { messagesStyle } from './messages-style/messages-style';
import { nativeOauth } from './native-oauth/native-oauth';
import { openaiStyle } from './openai-style/openai-style';
import { sandbox } from './sandbox/sandbox';
import { wireFor, type WireNeeds } from './wire';

const CORE = 'core';

/** What the service itself brings; extensions register beside these in the same way. */
const coreStyles: readonly Owned<SupplierStyle>[] = [
  openaiStyle,
  messagesStyle,
  geminiStyle,
  bedrock,
  cohereRerank,
  nativeOauth,
  sandbox,
].map((part) => ({ extension: CORE, name: `${CORE}/${part.name}`, part }));

export class SupplierStyles {
  private readonly owned = new Map<string, Owned<SupplierStyle>>();
  /** Asked for several times a request; a provider's views are replaced, never changed. */
  private readonly served = new WeakMap<ProviderView, Operations>();

  constructor(
    extensions: readonly Owned<contract.SupplierStyle>[] = [],
    report: ReportFailure = () => undefined,
  ) {
    for (const style of coreStyles) this.register(style);
    for (const style of extensions) this.register({ ...style, part: guardedStyle(style, report) });
  }

  /** Two styles of one name would make it a matter of order which of them gets the secrets. */
  private register(style: Owned<SupplierStyle>): void {
    const { name } = style.part;
    const other = this.owned.get(name);
    if (other !== undefined)
      throw new ExtensionRefused(
        style.extension,
        `its style of suppliers ${name} has the name of one of ${other.extension}; names in gateway.yaml mean one style`,
      );
    this.owned.set(name, style);
  }

  get names(): string[] {
    return [...this.owned.keys()];
  }

  of(provider: ProviderView): SupplierStyle {
    const style = this.styleNamed(provider.style);
    if (style !== undefined) return style;
    throw fault('configuration_error', { details: { provider: provider.name, style: provider.style } });
  }

  private styleNamed(name: string): SupplierStyle | undefined {
    return this.owned.get(name)?.part;
  }

  /** What suppliers of a style are paid with; undefined for a style that there is not. */
  kindFor(name: string): CredentialKind | undefined {
    return this.styleNamed(name)?.credential;
  }

  /** The supplier of a lane bills pictures by this rule. */
  picturesFor(lane: LaneView): PictureRule {
    return this.of(lane.provider).pictures?.(lane) ?? picturesOf(null, lane.facts);
  }

  /** Whether a lane is known to take a field that its dialect does not know: its style or the operator says so. */
  takesField({ provider, facts }: LaneView, operation: OperationName, name: string): boolean {
    if (facts.harmlessFields?.includes(name) === true) return true;
    if (this.of(provider).fields(provider).own(operation).includes(name)) return true;
    const { extra_fields: extra } = provider.settings;
    return Array.isArray(extra) && extra.includes(name);
  }

  /** Whether the supplier refuses fields that it does not know, so that none of them has an unseen effect. */
  validatesFields(provider: ProviderView): boolean {
    return this.of(provider).fields(provider).validates;
  }

  /** A lane is asked in this dialect for the request; undefined when its provider does not serve the operation. */
  wireFor(lane: LaneView, operation: OperationName, needs: WireNeeds): WireDialect | undefined {
    const usual = this.dialectFor(lane.provider, operation);
    // Only a supplier that serves both has a choice.
    const hasChoice = this.dialectFor(lane.provider, 'responses') === 'responses';
    return usual === undefined || !hasChoice ? usual : wireFor(lane, operation, usual, needs);
  }

  /** Conversations are asked for in this dialect although another was chosen; null where the choice holds. */
  spokenInsteadOf(wire: Wire | null, provider: ProviderView): WireDialect | null {
    const usual = this.dialectFor(provider, 'chat');
    const hasChoice = this.dialectFor(provider, 'responses') === 'responses';
    return wire === null || hasChoice || usual === undefined || usual === wire ? null : usual;
  }

  /** Kind of a model as callers see it: one whose lanes serve agents alone answers no other route. */
  kindOf({ kind, lanes }: Pick<ModelView, 'kind' | 'lanes'>): ModelKind | 'native' {
    const servesAgentsOnly = ({ provider }: LaneView): boolean =>
      this.dialectFor(provider, 'chat') === undefined && this.dialectFor(provider, 'native') !== undefined;
    return kind === 'chat' && lanes.length > 0 && lanes.every(servesAgentsOnly) ? 'native' : kind;
  }

  /** A provider would be asked in this dialect; undefined when it does not serve the operation. */
  dialectFor(provider: ProviderView, operation: OperationName): WireDialect | undefined {
    const known = this.served.get(provider);
    if (known !== undefined) return known[operation];
    const served = this.styleNamed(provider.style)?.operations(provider);
    if (served !== undefined) this.served.set(provider, served);
    return served?.[operation];
  }
}
