import { hash } from 'node:crypto';
import { Injectable, Logger } from '@nestjs/common';
import { CatalogueService } from '../../catalogue';
import { fault, parseUsd, withDeadline } from '../../kernel';
import { Settings } from '../../platform';
import {
  Admissions,
  AUTO,
  type GatewayCall,
  conversationOf,
  type Inbound,
  isText,
  type GatewayOperation,
  stickyKey,
  type TextOperation,
} from '../../gateway';
import { AutoPolicies } from '../policy/auto-policies';
import { AutoSalts } from '../learning/auto-salts';
import { type AutoSession, AutoSessions } from '../learning/auto-sessions';
import { AutoStates } from '../learning/auto-states';
import type { Candidate, SessionView } from '../engine/appraise';
import { type ChosenDecision, decide } from '../engine/decide';
import type { EffectiveAutoPolicy } from '../policy/auto-settings';
import { emptyState, type RouterState } from '../engine/state';
import { extractFeatures } from '../engine/features';
import type { RoutingPolicy } from '../engine/policy';
import { wordSalt } from '../engine/words';
import { AutoBudgets } from './auto-budgets';
import { type AutoCandidate, AutoCandidates, type AutoChoice } from './auto-candidates';
import { AutoRetries } from './auto-retries';
import { AutoRoute } from './auto-route';
import { AutoTraffic } from './auto-traffic';
import { noCandidate } from './no-candidate';
import { ReferenceUsage } from './reference-usage';
import { autoView, type AutoView } from './request-view';

const RETRY_SECONDS = 5;
/** A slower database is treated as unavailable. */
const DATABASE_DEADLINE_MS = 2_000;

interface Conversation {
  readonly hash: Buffer;
  readonly isNamed: boolean;
  readonly session: AutoSession | null;
  /** The model that made the tool calls whose results the request contains; null if unknown. */
  readonly author: string | null;
}

@Injectable()
export class AutoDecisions {
  private readonly logger = new Logger(AutoDecisions.name);
  private readonly untrainedState = emptyState();
  private readonly noSalt = wordSalt('');

  constructor(
    private readonly policies: AutoPolicies,
    private readonly states: AutoStates,
    private readonly salts: AutoSalts,
    private readonly sessions: AutoSessions,
    private readonly candidates: AutoCandidates,
    private readonly admissions: Admissions,
    private readonly traffic: AutoTraffic,
    private readonly budgets: AutoBudgets,
    private readonly retries: AutoRetries,
    private readonly referenceUsage: ReferenceUsage,
    private readonly catalogue: CatalogueService,
    private readonly settings: Settings,
  ) {}

  /** Returns null if the catalogue has a model named `auto`. */
  async choose(call: GatewayCall): Promise<AutoRoute | null> {
    if (this.catalogue.snapshot.model(AUTO) !== undefined) return null;
    const operation = autoOperation(call.operation);
    this.admissions.assertRegion(call);
    const policy = await this.policyOf(call);
    if (policy.mode === 'off') return this.fallback(call, policy);
    const view = autoView(call, operation);
    const conversation = await this.conversationOf(call, view);
    const { writers = [] } = call.inbound;
    const { author, session } = conversation;
    const last = author ?? session?.model;
    const choice = await this.candidates.of(call, view, policy, {
      writers: writers.length > 0 || last === undefined ? writers : [last],
      author,
    });
    const query = this.retries.track(call, view);
    const { chosen, isLearned } = await this.decideFor(call, view, policy, choice, conversation);
    const byName = new Map(choice.candidates.map((one) => [one.candidate.model, one]));
    this.admissions.assertPayer(call);
    return new AutoRoute(
      // Includes the lanes that this conversation is allowed to use.
      byName.get(chosen.chosen)?.admission ?? this.admissions.find({ ...call, model: chosen.chosen }),
      isLearned ? chosen.explanation : { ...chosen.explanation, fallback: 'state_unavailable' },
      byName,
      chosen.fallbackOrder,
      {
        remember: (model) => this.remember(call, policy, conversation, byName.get(model)),
        called: (model, calls) => this.noteCalls(call, model, calls),
        noted: (model) => {
          this.traffic.answered(call.inbound.caller.attribution.organisationId, model);
          this.retries.answered(query, model);
        },
      },
    );
  }

  private async decideFor(
    call: GatewayCall,
    view: AutoView,
    policy: EffectiveAutoPolicy,
    { candidates, excluded }: AutoChoice,
    conversation: Conversation,
  ): Promise<{ chosen: ChosenDecision; isLearned: boolean }> {
    const { organisationId } = call.inbound.caller.attribution;
    const [learned, pressure] = await Promise.all([
      this.learnedFor(organisationId),
      this.budgets.pressureOn(call.inbound.caller.limits),
    ]);
    const state = learned?.state ?? this.untrainedState;
    const now = Date.now();
    const candidateModels = candidates.map(({ candidate }) => candidate);
    const session = sessionView(policy, view, conversation);
    const rules = this.rulesOf(policy, candidateModels, learned !== null);
    const usualTokens = this.referenceUsage.of(organisationId, rules.referenceModel);
    const decision = decide(state, {
      features: extractFeatures(view.request, learned?.salt ?? this.noSalt),
      candidates: candidateModels,
      policy: rules,
      now,
      ...(session === undefined ? {} : { session }),
      ...(pressure === undefined ? {} : { pressure }),
      usualTokens,
      reliability: this.traffic.reliabilityFor(organisationId),
      drift: this.traffic.driftOf(organisationId),
      excluded,
    });
    if (decision.kind === 'none') throw noCandidate(call, decision);
    if (state.calibration !== undefined) this.traffic.noteFamiliarity(organisationId, decision.unfamiliar);
    return { chosen: decision, isLearned: learned !== null };
  }

  /** Returns null if the state is unavailable: the reference model then answers. */
  private async learnedFor(organisationId: number | null) {
    if (organisationId === null) return { state: this.untrainedState, salt: this.noSalt };
    try {
      const state: RouterState | null = await this.states.of(organisationId);
      if (state === null) return null;
      const salt =
        state.models.size === 0
          ? this.noSalt
          : await withDeadline(DATABASE_DEADLINE_MS, this.salts.of(organisationId));
      return { state, salt };
    } catch (error) {
      this.logger.warn(
        `Nothing that was learned for organisation ${organisationId} is at hand: ${String(error)}`,
      );
      return null;
    }
  }

  private async policyOf({ inbound }: GatewayCall): Promise<EffectiveAutoPolicy> {
    const { keyId, attribution } = inbound.caller;
    const { organisationId, userId } = attribution;
    try {
      return await this.policies.of({ organisationId, userId, keyId });
    } catch (cause) {
      throw fault('autorouter_unavailable', { retryAfterSeconds: RETRY_SECONDS, cause });
    }
  }

  private rulesOf(
    policy: EffectiveAutoPolicy,
    candidates: readonly Candidate[],
    isLearned: boolean,
  ): RoutingPolicy {
    const referenceModel = this.referenceOf(policy, candidates);
    const {
      min_quality: minQuality,
      max_cost_per_request: cost,
      latency_target_ms: latencyTargetMs,
    } = policy;
    return {
      algorithm: policy.algorithm,
      mode: policy.mode === 'on' && isLearned ? 'on' : 'shadow',
      dial: policy.dial,
      level: policy.level,
      ...(referenceModel === undefined ? {} : { referenceModel }),
      ...(minQuality === undefined ? {} : { minQuality }),
      ...(cost === undefined ? {} : { maxCostPerRequest: Number(parseUsd(cost)) }),
      ...(latencyTargetMs === undefined ? {} : { latencyTargetMs }),
    };
  }

  /** The configured model, by name or alias; otherwise the first of the catalogue. */
  private referenceOf(policy: EffectiveAutoPolicy, candidates: readonly Candidate[]): string | undefined {
    for (const name of [policy.reference_model, this.settings.autoModel]) {
      const resolved = name === undefined ? null : this.catalogue.resolve(name);
      if (resolved?.kind === 'found' && candidates.some(({ model }) => model === resolved.model.name))
        return resolved.model.name;
    }
    return candidates[0]?.model;
  }

  /** Routing is off: the configured model answers if the caller is allowed to use it. */
  private fallback(call: GatewayCall, { fallback_model: name }: EffectiveAutoPolicy): AutoRoute {
    if (name === undefined) {
      throw fault('autorouter_unavailable', {
        param: 'model',
        message: 'Automatic routing is switched off here: name a model.',
        retryAfterSeconds: RETRY_SECONDS,
      });
    }
    const admission = this.admissions.admit({ ...call, model: name });
    const chosen = admission.model.name;
    const explanation = { mode: 'off', reason: 'fallback', ref: chosen, chosen } as const;
    return new AutoRoute(admission, explanation, new Map(), [], noEffects);
  }

  /** A first turn without a conversation name gets no session: a guess could join unrelated conversations. */
  private async conversationOf(call: GatewayCall, { isContinued, results }: AutoView): Promise<Conversation> {
    const { inbound, model } = call;
    const name = conversationOf(inbound);
    const key = hash('sha256', stickyKey(inbound, { session: name, model }), 'buffer');
    const identity = { hash: key, isNamed: name !== null };
    if (name === null && !isContinued && results === null)
      return { ...identity, session: null, author: null };
    const { keyId } = inbound.caller;
    try {
      const [session, caller] = await withDeadline(
        DATABASE_DEADLINE_MS,
        Promise.all([
          this.sessions.of(keyId, key),
          results === null
            ? null
            : (storedCallerOf(inbound, results) ?? this.sessions.callerOf(keyId, results)),
        ]),
      );
      return { ...identity, session, author: results === null ? null : (caller ?? session?.model ?? null) };
    } catch (cause) {
      // No other model is allowed to read the result of a tool call, and the model that made the call is unknown.
      if (results !== null)
        throw fault('autorouter_unavailable', { retryAfterSeconds: RETRY_SECONDS, cause });
      return { ...identity, session: null, author: null };
    }
  }

  private async noteCalls({ inbound }: GatewayCall, model: string, calls: readonly string[]): Promise<void> {
    try {
      await withDeadline(DATABASE_DEADLINE_MS, this.sessions.called(inbound.caller.keyId, model, calls));
    } catch (error) {
      this.logger.warn(`The model of a tool call could not be stored: ${String(error)}`);
    }
  }

  private async remember(
    { inbound, inputEstimate }: GatewayCall,
    { stickiness_minutes: minutes }: EffectiveAutoPolicy,
    conversation: Conversation,
    candidate: AutoCandidate | undefined,
  ): Promise<void> {
    if (candidate === undefined) return;
    const { model } = candidate.admission;
    try {
      const storing = this.sessions.remember(inbound.caller.keyId, conversation.hash, {
        model: model.name,
        cachedTokens: model.capabilities.has('prompt_caching') ? inputEstimate : 0,
        minutes: conversation.isNamed ? minutes : Math.ceil(minutes / 2),
      });
      await withDeadline(DATABASE_DEADLINE_MS, storing);
    } catch (error) {
      this.logger.warn(`The model of a conversation could not be stored: ${String(error)}`);
    }
  }
}

/** Only conversations of the three dialects on their own routes support automatic choice. */
function autoOperation(operation: GatewayOperation): TextOperation {
  if (isText(operation) && operation.name === operation.dialect.name) return operation;
  throw fault('unsupported_auto_mode', {
    param: 'model',
    message: 'auto cannot be asked for on this route: name a model.',
  });
}

const noEffects = {
  remember: () => Promise.resolve(),
  called: () => Promise.resolve(),
  noted: () => undefined,
};

/** The model whose stored answer contains these calls; null if unknown. */
function storedCallerOf({ callers }: Inbound, calls: readonly string[]): string | null {
  const [model = null, ...others] = new Set(calls.flatMap((id) => callers?.get(id) ?? []));
  return others.length === 0 ? model : null;
}

function sessionView(
  { stickiness }: EffectiveAutoPolicy,
  { results }: AutoView,
  { session, isNamed, author }: Conversation,
): SessionView | undefined {
  const isToolResult = results !== null;
  if (session === null && !isNamed && !isToolResult) return undefined;
  const model = isToolResult ? author : stickiness ? session?.model : null;
  const isOfSession = session !== null && model === session.model;
  return {
    source: isNamed ? 'named' : 'guessed',
    betweenToolCallAndResult: isToolResult,
    cachedTokens: isOfSession ? session.cachedTokens : 0,
    ...(model ? { model } : {}),
    ...(isOfSession ? { since: session.since } : {}),
  };
}
