import type {
  Command,
  Gate,
  IdentityProvider,
  Job,
  Need,
  Policy,
  PriceComponent,
  SupplierStyle,
  Tap,
} from '#extension';
import type { PortFactory } from './extension-ports';
import type { LoadedExtension, ExtensionPart } from './loaded-extension';

/** The extensions of this process; immutable while it runs. */
export class Extensions {
  readonly suppliers: readonly ExtensionPart<SupplierStyle>[];
  readonly gates: readonly ExtensionPart<Gate>[];
  readonly taps: readonly ExtensionPart<Tap>[];
  readonly identityProviders: readonly ExtensionPart<IdentityProvider>[];
  readonly policies: readonly ExtensionPart<Policy>[];
  readonly priceComponents: readonly ExtensionPart<PriceComponent>[];
  readonly jobs: readonly ExtensionPart<Job>[];
  readonly commands: readonly ExtensionPart<Command>[];

  constructor(readonly all: readonly LoadedExtension[]) {
    this.suppliers = collectParts(all, ({ suppliers }) => suppliers);
    this.gates = collectParts(all, ({ gates }) => gates);
    this.taps = collectParts(all, ({ taps }) => taps);
    this.identityProviders = collectParts(all, ({ identityProviders }) => identityProviders);
    this.policies = collectParts(all, ({ policies }) => policies);
    this.priceComponents = collectParts(all, ({ priceComponents }) => priceComponents);
    this.jobs = collectParts(all, ({ jobs }) => jobs);
    this.commands = collectParts(all, ({ commands }) => commands);
  }

  /** Provides a port to every extension that needs it. Called by the module that owns the underlying resource. */
  providePort<Name extends Need>(name: Name, factory: PortFactory<Name>): void {
    for (const { ports } of this.all) ports.provide(name, factory);
  }
}

const collectParts = <Part extends { readonly name: string }>(
  all: readonly LoadedExtension[],
  selectParts: (adds: LoadedExtension['adds']) => readonly Part[] | undefined,
): readonly ExtensionPart<Part>[] =>
  all.flatMap(({ id, adds }) =>
    (selectParts(adds) ?? []).map((part) => ({ extension: id, name: `${id}/${part.name}`, part })),
  );
