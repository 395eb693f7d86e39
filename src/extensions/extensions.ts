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
import type { PortMaker } from './extension-ports';
import type { LoadedExtension, Owned } from './loaded-extension';

/** The extensions of this process. They never change while it runs. */
export class Extensions {
  readonly suppliers: readonly Owned<SupplierStyle>[];
  readonly gates: readonly Owned<Gate>[];
  readonly taps: readonly Owned<Tap>[];
  readonly identityProviders: readonly Owned<IdentityProvider>[];
  readonly policies: readonly Owned<Policy>[];
  readonly priceComponents: readonly Owned<PriceComponent>[];
  readonly jobs: readonly Owned<Job>[];
  readonly commands: readonly Owned<Command>[];

  constructor(readonly all: readonly LoadedExtension[]) {
    this.suppliers = ownedOf(all, ({ suppliers }) => suppliers);
    this.gates = ownedOf(all, ({ gates }) => gates);
    this.taps = ownedOf(all, ({ taps }) => taps);
    this.identityProviders = ownedOf(all, ({ identityProviders }) => identityProviders);
    this.policies = ownedOf(all, ({ policies }) => policies);
    this.priceComponents = ownedOf(all, ({ priceComponents }) => priceComponents);
    this.jobs = ownedOf(all, ({ jobs }) => jobs);
    this.commands = ownedOf(all, ({ commands }) => commands);
  }

  /** The module that has what a port needs gives it to those who asked for it. */
  givePort<Name extends Need>(name: Name, maker: PortMaker<Name>): void {
    for (const { ports } of this.all) ports.give(name, maker);
  }
}

const ownedOf = <Part extends { readonly name: string }>(
  all: readonly LoadedExtension[],
  partsOf: (adds: LoadedExtension['adds']) => readonly Part[] | undefined,
): readonly Owned<Part>[] =>
  all.flatMap(({ id, adds }) =>
    (partsOf(adds) ?? []).map((part) => ({ extension: id, name: `${id}/${part.name}`, part })),
  );
