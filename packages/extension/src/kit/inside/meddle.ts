import type {
  Contributions,
  CredentialKind,
  Extension,
  Gate,
  IdentityProvider,
  Mask,
  Need,
  Policy,
  PriceComponent,
  Tap,
} from '../../index';

/** Files through which the two processes exchange data, and changes of the start. */
export interface Plan {
  readonly definition: string;
  readonly facts: string;
  readonly control: string;
  readonly delivered: string;
  /** Address of the agent, once the service listens. */
  readonly agent: string;
  /** Replaces the version range of the extension. */
  readonly host?: string;
  /** Refuses the start as soon as the parts of the extension are known. */
  readonly isReading?: boolean;
}

export interface ExtensionDefinition {
  readonly id: string;
  readonly host: string;
  readonly needs: readonly string[];
  readonly migrations: string | null;
  readonly messages: string | null;
  readonly navigation: readonly { readonly href: string }[];
}

export interface SupplierStyleSummary {
  readonly name: string;
  readonly credential: CredentialKind;
  readonly hasUnframer: boolean;
  readonly hasOwnFormat: boolean;
}

export interface ContributionSummary {
  readonly gates: readonly { readonly name: string; readonly hooks: readonly string[] }[];
  readonly policies: readonly string[];
  readonly fees: readonly string[];
  readonly taps: readonly string[];
  readonly jobs: readonly string[];
  readonly commands: readonly string[];
  readonly directories: readonly string[];
  readonly suppliers: readonly SupplierStyleSummary[];
  readonly policyNames: readonly string[];
  /** Policies that forbid visits. */
  readonly visitPolicies: readonly string[];
  readonly hasModule: boolean;
  /** Ports that the extension requested without listing them in `needs`. */
  readonly foreignPorts: readonly string[];
}

/**
 * Wraps the extension so that its parts fail for requests with tags such as `kit:<part>:<fault>`. The text of this
 * function runs in the service's process, so it uses nothing from outside.
 */
export function meddle(extension: Extension<unknown, Need>, plan: Plan): Extension<unknown, Need> {
  const { appendFileSync, existsSync, readFileSync, writeFileSync } = process.getBuiltinModule('node:fs');
  const foreignPorts = new Set<string>();
  const { id, host: range, needs = [], migrations = null, messages = null, navigation = [] } = extension;
  const definition: ExtensionDefinition = { id, host: range, needs, migrations, messages, navigation };
  writeFileSync(plan.definition, JSON.stringify(definition));

  const fail = (fault: string): never => {
    if (fault === 'throws') throw new Error('the kit lets it throw');
    if (fault === 'rejects') return Promise.reject(new Error('the kit lets it reject')) as never;
    if (fault === 'hangs') return new Promise(() => undefined) as never;
    return { verdict: 42 } as never;
  };
  const faultFor = (part: string, tags: readonly string[]): string | undefined => {
    const start = `kit:${part}:`;
    return tags.find((tag) => tag.startsWith(start))?.slice(start.length);
  };

  /** For each hook of a gate, returns a gate with the same hook that fails, one per failure policy. */
  const failingGates = (gate: Gate, position: number): Gate[] =>
    (['open', 'closed'] as const).flatMap((onError) => {
      const gateOptions = (name: string) => ({
        name: `kit-${position}-${onError}-${name}`,
        timeoutMs: 150,
        onError,
      });
      const gates: Gate[] = [];
      for (const hook of ['request', 'candidates', 'settled'] as const) {
        const options = gateOptions(hook);
        const run = (tags: readonly string[]): never => {
          const fault = faultFor(options.name, tags);
          return fault === undefined ? ({ verdict: 'abstain' } as never) : fail(fault);
        };
        if (gate[hook] !== undefined)
          gates.push({ ...options, [hook]: ({ tags }: { tags: string[] }) => run(tags) });
      }
      if (gate.answer === undefined) return gates;
      for (const fault of ['throws', 'rubbish']) {
        const options = gateOptions(`answer-${fault}`);
        const find: Mask['find'] = (text) => {
          if (fault === 'throws') throw new Error('the kit lets it throw');
          return [{ start: -1, end: text.length + 9, text: 7 as never }];
        };
        const applies: Mask['applies'] = ({ tags }) => faultFor(options.name, tags) !== undefined;
        gates.push({ ...options, answer: { longest: gate.answer.longest, applies, find } });
      }
      return gates;
    });

  const failingPolicy = (policy: Policy): Policy => {
    if (policy.forbidsModel === undefined) return policy;
    const forbidsModel: Policy['forbidsModel'] = (request, model) => {
      const fault = faultFor(policy.name, request.tags);
      return fault === undefined ? (policy.forbidsModel?.(request, model) ?? null) : fail(fault);
    };
    return {
      name: policy.name,
      forbidsVisit: policy.forbidsVisit?.bind(policy),
      forbidsModel: forbidsModel,
    };
  };

  const failingFee = (component: PriceComponent): PriceComponent => ({
    name: component.name,
    fee(request) {
      const fault = faultFor(component.name, request.tags);
      if (fault === undefined) return component.fee(request);
      return fault === 'rubbish' ? { share: -1 } : fail(fault);
    },
  });

  const failingTap = (tap: Tap): Tap => ({
    ...tap,
    async deliver(records, signal) {
      const mode = existsSync(plan.control) ? readFileSync(plan.control, 'utf8') : '';
      if (mode === 'down') throw new Error('the kit has taken its sink away');
      await tap.deliver(records, signal);
      if (mode === 'twice') await tap.deliver(records, signal);
      const lines = records.map(({ request_id: id }) => `${tap.name} ${id}\n`);
      appendFileSync(plan.delivered, lines.join(''));
      // Records are delivered, but the service never learns of it.
      if (mode === 'stuck') await new Promise(() => undefined);
    },
  });

  /** Authenticates the users of the kit, who use the pages as members of two organisations. */
  const kitUsers: IdentityProvider = {
    name: 'kit-people',
    label: 'Kit',
    authenticate({ name, password }) {
      const profile = { subject: name, email: `${name}@kit.example`, emailVerified: true, displayName: name };
      return Promise.resolve(/^kit-/.test(name) && password === 'kit' ? profile : null);
    },
  };

  const writeSummary = (contributions: Contributions): void => {
    const { gates = [], policies = [], priceComponents = [], taps = [], module } = contributions;
    const { jobs = [], commands = [], identityProviders = [], suppliers = [] } = contributions;
    const hooks = ['request', 'candidates', 'answer', 'settled'] as const;
    const summary: ContributionSummary = {
      gates: gates.map((gate) => ({
        name: gate.name,
        hooks: hooks.filter((hook) => gate[hook] !== undefined),
      })),
      policies: policies.filter((policy) => policy.forbidsModel !== undefined).map(({ name }) => name),
      fees: priceComponents.map(({ name }) => name),
      taps: taps.map(({ name }) => name),
      jobs: jobs.map(({ name }) => name),
      commands: commands.map(({ name }) => name),
      directories: identityProviders.map(({ name }) => name),
      suppliers: suppliers.map((style) => ({
        name: style.name,
        credential: style.credential,
        hasUnframer: style.unframer !== undefined,
        hasOwnFormat: style.unwrap !== undefined || style.unframer !== undefined,
      })),
      policyNames: policies.map(({ name }) => name),
      visitPolicies: policies.filter((policy) => policy.forbidsVisit !== undefined).map(({ name }) => name),
      hasModule: module !== undefined,
      foreignPorts: [...foreignPorts],
    };
    writeFileSync(plan.facts, JSON.stringify(summary));
  };

  return {
    ...extension,
    host: plan.host ?? extension.host,
    async setup(host) {
      const set: { adds?: Contributions } = {};
      const ports = new Proxy(host.ports, {
        get(target, name): unknown {
          if (typeof name === 'string' && !(name in target)) {
            foreignPorts.add(name);
            if (set.adds !== undefined) writeSummary(set.adds);
          }
          return Reflect.get(target, name);
        },
      });
      const contributions = await extension.setup({ ...host, ports });
      set.adds = contributions;
      writeSummary(contributions);
      if (plan.isReading === true) throw new Error('the kit has read its parts');
      return {
        ...contributions,
        identityProviders: [...(contributions.identityProviders ?? []), kitUsers],
        ...(contributions.gates && {
          gates: [...contributions.gates, ...contributions.gates.flatMap(failingGates)],
        }),
        ...(contributions.policies && { policies: contributions.policies.map(failingPolicy) }),
        ...(contributions.priceComponents && {
          priceComponents: contributions.priceComponents.map(failingFee),
        }),
        ...(contributions.taps && { taps: contributions.taps.map(failingTap) }),
      };
    },
  };
}
