import { hash } from 'node:crypto';
import { Injectable, Logger } from '@nestjs/common';
import { CatalogueService } from '../../catalogue';
import { fault, parseUsd, withDeadline } from '../../kernel';
import { Settings } from '../../platform';
import {
  Admissions,
  AUTO,
  type Call,
  conversationOf,
  type Inbound,
  isText,
  type Operation,
  stickyKey,
  type TextOperation,
} from '../../gateway';
import { AutoPolicies } from '../policy/auto-policies';
import { AutoSalts } from '../learning/auto-salts';
import { type AutoSession, AutoSessions } from '../learning/auto-sessions';
import { AutoStates } from '../learning/auto-states';
import type { Candidate, SessionView } from '../engine/appraise';
import { type Chosen, decide } from '../engine/decide';
import type { EffectiveAutoPolicy } from '../policy/auto-settings';
import { emptyState, type RouterState } from '../engine/state';
import { extractFeatures } from '../engine/features';
import type { Policy } from '../engine/policy';
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
/** A slower database counts as away. */
const ANSWER_DEADLINE_MS = 2_000;

/** The conversation of a request, as far as it is known. */
interface Conversation {
  readonly hash: Buffer;
  readonly isNamed: boolean;
  readonly session: AutoSession | null;
  /** The model that made the tool calls whose results the request brings; null where it is unknown. */
  readonly author: string | null;
}

/** Chooses the model of a request for `auto`, by what its caller may use, what was learned, and what was set. */
@Injectable()
export class AutoDecisions {
  private readonly logger = new Logger(AutoDecisions.name);
  private readonly nothing = emptyState();
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

  /** It is null where the catalogue has a model of this name. */
  async choose(call: Call): Promise<AutoRoute | null> {
    if (this.catalogue.snapshot.model(AUTO) !== undefined) return null;
    const operation = autoOperation(call.operation);
    this.admissions.mustKnowRegion(call);
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
    const question = this.retries.begin(call, view);
    const { chosen, isLearned } = await this.decided(call, view, policy, choice, conversation);
    const byName = new Map(choice.candidates.map((one) => [one.candidate.model, one]));
    this.admissions.mustBePaid(call);
    return new AutoRoute(
      // Includes the lanes that this conversation may take.
      byName.get(chosen.chosen)?.admission ?? this.admissions.find({ ...call, model: chosen.chosen }),
      isLearned ? chosen.explanation : { ...chosen.explanation, fallback: 'state_unavailable' },
      byName,
      chosen.fallbackOrder,
      {
        remember: (model) => this.remember(call, policy, conversation, byName.get(model)),
        called: (model, calls) => this.noteCalls(call, model, calls),
        noted: (model) => {
          this.traffic.answered(call.inbound.caller.attribution.organisationId, model);
          this.retries.answered(question, model);
        },
      },
    );
  }

  private async decided(
    call: Call,
    view: AutoView,
    policy: EffectiveAutoPolicy,
    { candidates, excluded }: AutoChoice,
    conversation: Conversation,
  ): Promise<{ chosen: Chosen; isLearned: boolean }> {
    const { organisationId } = call.inbound.caller.attribution;
    const [learned, pressure] = await Promise.all([
      this.learnedFor(organisationId),
      this.budgets.pressureOn(call.inbound.caller.limits),
    ]);
    const state = learned?.state ?? this.nothing;
    const now = Date.now();
    const asked = candidates.map(({ candidate }) => candidate);
    const session = sessionView(policy, view, conversation);
    const rules = this.rulesOf(policy, asked, learned !== null);
    const usualTokens = this.referenceUsage.of(organisationId, rules.referenceModel);
    const decision = decide(state, {
      features: extractFeatures(view.request, learned?.salt ?? this.noSalt),
      candidates: asked,
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
    if (state.calibration !== undefined) this.traffic.note(organisationId, decision.unfamiliar);
    return { chosen: decision, isLearned: learned !== null };
  }

  /** It is null where the state is unavailable: then the reference model answers. */
  private async learnedFor(organisationId: number | null) {
    if (organisationId === null) return { state: this.nothing, salt: this.noSalt };
    try {
      const state: RouterState | null = await this.states.of(organisationId);
      if (state === null) return null;
      const salt =
        state.models.size === 0
          ? this.noSalt
          : await withDeadline(ANSWER_DEADLINE_MS, this.salts.of(organisationId));
      return { state, salt };
    } catch (error) {
      this.logger.warn(
        `Nothing that was learned for organisation ${organisationId} is at hand: ${String(error)}`,
      );
      return null;
    }
  }

  private async policyOf({ inbound }: Call): Promise<EffectiveAutoPolicy> {
    const { keyId, attribution } = inbound.caller;
    const { organisationId, userId } = attribution;
    try {
      return await this.policies.of({ organisationId, userId, keyId });
    } catch (cause) {
      throw fault('autorouter_unavailable', { retryAfterSeconds: RETRY_SECONDS, cause });
    }
  }

  private rulesOf(policy: EffectiveAutoPolicy, candidates: readonly Candidate[], isLearned: boolean): Policy {
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

  /** The configured model, under its name or an alias; else the first of the catalogue. */
  private referenceOf(policy: EffectiveAutoPolicy, candidates: readonly Candidate[]): string | undefined {
    for (const name of [policy.reference_model, this.settings.autoModel]) {
      const found = name === undefined ? null : this.catalogue.resolve(name);
      if (found?.kind === 'found' && candidates.some(({ model }) => model === found.model.name))
        return found.model.name;
    }
    return candidates[0]?.model;
  }

  /** Routing is off: the configured model answers, within the caller's own rights. */
  private fallback(call: Call, { fallback_model: name }: EffectiveAutoPolicy): AutoRoute {
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
    return new AutoRoute(admission, explanation, new Map(), [], nothingToNote);
  }

  /** No session for a first turn without a name: a guess could join unrelated conversations. */
  private async conversationOf(call: Call, { isContinued, results }: AutoView): Promise<Conversation> {
    const { inbound, model } = call;
    const name = conversationOf(inbound);
    const key = hash('sha256', stickyKey(inbound, { session: name, model }), 'buffer');
    const known = { hash: key, isNamed: name !== null };
    if (name === null && !isContinued && results === null) return { ...known, session: null, author: null };
    const { keyId } = inbound.caller;
    try {
      const [session, caller] = await withDeadline(
        ANSWER_DEADLINE_MS,
        Promise.all([
          this.sessions.of(keyId, key),
          results === null ? null : (keptCaller(inbound, results) ?? this.sessions.callerOf(keyId, results)),
        ]),
      );
      return { ...known, session, author: results === null ? null : (caller ?? session?.model ?? null) };
    } catch (cause) {
      // Another model must not read the result of a tool call, and its caller model is unknown.
      if (results !== null)
        throw fault('autorouter_unavailable', { retryAfterSeconds: RETRY_SECONDS, cause });
      return { ...known, session: null, author: null };
    }
  }

  private async noteCalls({ inbound }: Call, model: string, calls: readonly string[]): Promise<void> {
    try {
      await withDeadline(ANSWER_DEADLINE_MS, this.sessions.called(inbound.caller.keyId, model, calls));
    } catch (error) {
      this.logger.warn(`The model of a tool call could not be stored: ${String(error)}`);
    }
  }

  private async remember(
    { inbound, inputEstimate }: Call,
    { stickiness_minutes: minutes }: EffectiveAutoPolicy,
    conversation: Conversation,
    answered: AutoCandidate | undefined,
  ): Promise<void> {
    if (answered === undefined) return;
    const { model } = answered.admission;
    try {
      const remembering = this.sessions.remember(inbound.caller.keyId, conversation.hash, {
        model: model.name,
        cachedTokens: model.capabilities.has('prompt_caching') ? inputEstimate : 0,
        minutes: conversation.isNamed ? minutes : Math.ceil(minutes / 2),
      });
      await withDeadline(ANSWER_DEADLINE_MS, remembering);
    } catch (error) {
      this.logger.warn(`The model of a conversation could not be stored: ${String(error)}`);
    }
  }
}

/** Only conversations of the three dialects on their own routes can be chosen for. */
function autoOperation(operation: Operation): TextOperation {
  if (isText(operation) && operation.name === operation.dialect.name) return operation;
  throw fault('unsupported_auto_mode', {
    param: 'model',
    message: 'auto cannot be asked for on this route: name a model.',
  });
}

const nothingToNote = {
  remember: () => Promise.resolve(),
  called: () => Promise.resolve(),
  noted: () => undefined,
};

/** The model whose stored answer holds these calls; null where it is unknown. */
function keptCaller({ callers }: Inbound, calls: readonly string[]): string | null {
  const [model = null, ...others] = new Set(calls.flatMap((id) => callers?.get(id) ?? []));
  return others.length === 0 ? model : null;
}

function sessionView(
  { stickiness }: EffectiveAutoPolicy,
  { results }: AutoView,
  { session, isNamed, author }: Conversation,
): SessionView | undefined {
  const isBetween = results !== null;
  if (session === null && !isNamed && !isBetween) return undefined;
  const model = isBetween ? author : stickiness ? session?.model : null;
  const isOfSession = session !== null && model === session.model;
  return {
    source: isNamed ? 'named' : 'guessed',
    betweenToolCallAndResult: isBetween,
    cachedTokens: isOfSession ? session.cachedTokens : 0,
    ...(model ? { model } : {}),
    ...(isOfSession ? { since: session.since } : {}),
  };
}
