import type * as contract from '#extension';
import type { CredentialKind, LaneView, ModelKind, ModelView, ProviderView } from '../../catalogue';
import { ExtensionRefused, type ExtensionPart } from '../../extensions';
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
  type CoreStyle,
  type WireDialect,
} from './kit';
import { messagesStyle } from './messages-style/messages-style';
import { nativeOauth } from './native-oauth/native-oauth';
import { openaiStyle } from './openai-style/openai-style';
import { sandbox } from './sandbox/sandbox';
import { wireFor, type WireNeeds } from './wire';

const CORE = 'core';

const coreStyles: readonly ExtensionPart<CoreStyle>[] = [
  openaiStyle,
  messagesStyle,
  geminiStyle,
  bedrock,
  cohereRerank,
  nativeOauth,
  sandbox,
].map((part) => ({ extension: CORE, name: `${CORE}/${part.name}`, part }));

export class SupplierStyles {
  private readonly styles = new Map<string, ExtensionPart<CoreStyle>>();
  /** Cached because it is needed several times per request; a provider's views are replaced, never changed. */
  private readonly operationsCache = new WeakMap<ProviderView, Operations>();

  constructor(
    extensions: readonly ExtensionPart<contract.SupplierStyle>[] = [],
    report: ReportFailure = () => undefined,
  ) {
    for (const style of coreStyles) this.register(style);
    for (const style of extensions) this.register({ ...style, part: guardedStyle(style, report) });
  }

  /** Refuses two styles of the same name, since registration order would decide which one gets the secrets. */
  private register(style: ExtensionPart<CoreStyle>): void {
    const { name } = style.part;
    const other = this.styles.get(name);
    if (other !== undefined)
      throw new ExtensionRefused(
        style.extension,
        `its style of suppliers ${name} has the name of one of ${other.extension}; names in gateway.yaml mean one style`,
      );
    this.styles.set(name, style);
  }

  get names(): string[] {
    return [...this.styles.keys()];
  }

  of(provider: ProviderView): CoreStyle {
    const style = this.styleNamed(provider.style);
    if (style !== undefined) return style;
    throw fault('configuration_error', { details: { provider: provider.name, style: provider.style } });
  }

  private styleNamed(name: string): CoreStyle | undefined {
    return this.styles.get(name)?.part;
  }

  credentialKindOf(name: string): CredentialKind | undefined {
    return this.styleNamed(name)?.credential;
  }

  picturesFor(lane: LaneView): PictureRule {
    return this.of(lane.provider).pictures?.(lane) ?? picturesOf(null, lane.facts);
  }

  /** Whether a lane accepts a field outside its dialect, according to its style or the operator. */
  takesField({ provider, facts }: LaneView, operation: OperationName, name: string): boolean {
    if (facts.harmlessFields?.includes(name) === true) return true;
    if (this.of(provider).fields(provider).own(operation).includes(name)) return true;
    const { extra_fields: extra } = provider.settings;
    return Array.isArray(extra) && extra.includes(name);
  }

  /** Whether the supplier refuses unknown fields, so that none has an unnoticed effect. */
  validatesFields(provider: ProviderView): boolean {
    return this.of(provider).fields(provider).validates;
  }

  /** The dialect in which a lane is called for the request; undefined if its provider does not serve the operation. */
  wireFor(lane: LaneView, operation: OperationName, needs: WireNeeds): WireDialect | undefined {
    const defaultDialect = this.dialectFor(lane.provider, operation);
    // Only a supplier that serves both chat and responses has a choice.
    const hasChoice = this.dialectFor(lane.provider, 'responses') === 'responses';
    return defaultDialect === undefined || !hasChoice
      ? defaultDialect
      : wireFor(lane, operation, defaultDialect, needs);
  }

  /** The dialect that conversations use instead of the chosen one; null if the choice is available. */
  dialectInsteadOf(wire: Wire | null, provider: ProviderView): WireDialect | null {
    const defaultDialect = this.dialectFor(provider, 'chat');
    const hasChoice = this.dialectFor(provider, 'responses') === 'responses';
    return wire === null || hasChoice || defaultDialect === undefined || defaultDialect === wire
      ? null
      : defaultDialect;
  }

  /** Kind of a model as callers see it: a model whose lanes serve only agents responds on no other route. */
  kindOf({ kind, lanes }: Pick<ModelView, 'kind' | 'lanes'>): ModelKind | 'native' {
    const servesAgentsOnly = ({ provider }: LaneView): boolean =>
      this.dialectFor(provider, 'chat') === undefined && this.dialectFor(provider, 'native') !== undefined;
    return kind === 'chat' && lanes.length > 0 && lanes.every(servesAgentsOnly) ? 'native' : kind;
  }

  /** The dialect of a provider for the operation; undefined if it does not serve it. */
  dialectFor(provider: ProviderView, operation: OperationName): WireDialect | undefined {
    const cached = this.operationsCache.get(provider);
    if (cached !== undefined) return cached[operation];
    const operations = this.styleNamed(provider.style)?.operations(provider);
    if (operations !== undefined) this.operationsCache.set(provider, operations);
    return operations?.[operation];
  }
}
