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

/** Where the two processes leave word for each other. */
export interface Plan {
  readonly definition: string;
  readonly facts: string;
  readonly control: string;
  readonly delivered: string;
  /** The address of the agent, once the service listens. */
  readonly agent: string;
  /** It takes the place of the range that the extension names. */
  readonly host?: string;
  /** The start is refused as soon as the parts of the extension are known. */
  readonly isReading?: boolean;
}

/** What an extension says of itself. */
export interface FoundDefinition {
  readonly id: string;
  readonly host: string;
  readonly needs: readonly string[];
  readonly migrations: string | null;
  readonly messages: string | null;
  readonly navigation: readonly { readonly href: string }[];
}

/** A style of suppliers that an extension adds. */
export interface SupplierFacts {
  readonly name: string;
  readonly credential: CredentialKind;
  readonly hasUnframer: boolean;
  readonly hasOwnFormat: boolean;
}

/** What an extension adds. */
export interface Facts {
  readonly gates: readonly { readonly name: string; readonly hooks: readonly string[] }[];
  readonly policies: readonly string[];
  readonly fees: readonly string[];
  readonly taps: readonly string[];
  readonly jobs: readonly string[];
  readonly commands: readonly string[];
  readonly directories: readonly string[];
  readonly suppliers: readonly SupplierFacts[];
  /** All policies, in their order. */
  readonly policyNames: readonly string[];
  /** Policies that forbid visits. */
  readonly visitPolicies: readonly string[];
  readonly hasModule: boolean;
  /** Ports that it asked for without having named them. */
  readonly foreignPorts: readonly string[];
}

/**
 * The extension, with its parts failing for requests whose tags say so: `kit:<part>:<fault>`. Its text is run in the
 * process of the service, so that it uses nothing from outside of itself.
 */
export function meddle(extension: Extension<unknown, Need>, plan: Plan): Extension<unknown, Need> {
  const { appendFileSync, existsSync, readFileSync, writeFileSync } = process.getBuiltinModule('node:fs');
  const foreign = new Set<string>();
  const { id, host: range, needs = [], migrations = null, messages = null, navigation = [] } = extension;
  const definition: FoundDefinition = { id, host: range, needs, migrations, messages, navigation };
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

  /** Beside a gate, two of the same hooks that fail under one policy each. */
  const twins = (gate: Gate, place: number): Gate[] =>
    (['open', 'closed'] as const).flatMap((onError) => {
      const named = (name: string) => ({ name: `kit-${place}-${onError}-${name}`, timeoutMs: 150, onError });
      const made: Gate[] = [];
      for (const hook of ['request', 'candidates', 'settled'] as const) {
        const own = named(hook);
        const act = (tags: readonly string[]): never => {
          const fault = faultFor(own.name, tags);
          return fault === undefined ? ({ verdict: 'abstain' } as never) : fail(fault);
        };
        if (gate[hook] !== undefined)
          made.push({ ...own, [hook]: ({ tags }: { tags: string[] }) => act(tags) });
      }
      if (gate.answer === undefined) return made;
      for (const fault of ['throws', 'rubbish']) {
        const own = named(`answer-${fault}`);
        const find: Mask['find'] = (text) => {
          if (fault === 'throws') throw new Error('the kit lets it throw');
          return [{ start: -1, end: text.length + 9, text: 7 as never }];
        };
        const applies: Mask['applies'] = ({ tags }) => faultFor(own.name, tags) !== undefined;
        made.push({ ...own, answer: { longest: gate.answer.longest, applies, find } });
      }
      return made;
    });

  const failingPolicy = (policy: Policy): Policy => {
    if (policy.forbidsModel === undefined) return policy;
    const asked: Policy['forbidsModel'] = (request, model) => {
      const fault = faultFor(policy.name, request.tags);
      return fault === undefined ? (policy.forbidsModel?.(request, model) ?? null) : fail(fault);
    };
    return {
      name: policy.name,
      forbidsVisit: policy.forbidsVisit?.bind(policy),
      forbidsModel: asked,
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
      // It was delivered, and the service does not hear of it.
      if (mode === 'stuck') await new Promise(() => undefined);
    },
  });

  /** Vouches for the people of the kit, who use the pages as members of two organisations. */
  const people: IdentityProvider = {
    name: 'kit-people',
    label: 'Kit',
    authenticate({ name, password }) {
      const profile = { subject: name, email: `${name}@kit.example`, emailVerified: true, displayName: name };
      return Promise.resolve(/^kit-/.test(name) && password === 'kit' ? profile : null);
    },
  };

  const note = (adds: Contributions): void => {
    const { gates = [], policies = [], priceComponents = [], taps = [], module } = adds;
    const { jobs = [], commands = [], identityProviders = [], suppliers = [] } = adds;
    const hooks = ['request', 'candidates', 'answer', 'settled'] as const;
    const facts: Facts = {
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
      foreignPorts: [...foreign],
    };
    writeFileSync(plan.facts, JSON.stringify(facts));
  };

  return {
    ...extension,
    host: plan.host ?? extension.host,
    async setup(host) {
      const set: { adds?: Contributions } = {};
      const ports = new Proxy(host.ports, {
        get(target, name): unknown {
          if (typeof name === 'string' && !(name in target)) {
            foreign.add(name);
            if (set.adds !== undefined) note(set.adds);
          }
          return Reflect.get(target, name);
        },
      });
      const adds = await extension.setup({ ...host, ports });
      set.adds = adds;
      note(adds);
      if (plan.isReading === true) throw new Error('the kit has read its parts');
      return {
        ...adds,
        identityProviders: [...(adds.identityProviders ?? []), people],
        ...(adds.gates && { gates: [...adds.gates, ...adds.gates.flatMap(twins)] }),
        ...(adds.policies && { policies: adds.policies.map(failingPolicy) }),
        ...(adds.priceComponents && { priceComponents: adds.priceComponents.map(failingFee) }),
        ...(adds.taps && { taps: adds.taps.map(failingTap) }),
      };
    },
  };
}
