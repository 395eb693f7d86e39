import {
  type DynamicModule,
  type ForwardReference,
  type Provider,
  RequestMethod,
  type Type,
} from '@nestjs/common';
import {
  GLOBAL_MODULE_METADATA,
  INJECTABLE_WATERMARK,
  METHOD_METADATA,
  MODULE_METADATA,
  PATH_METADATA,
} from '@nestjs/common/constants';
import { APP_FILTER, APP_GUARD, APP_INTERCEPTOR, APP_PIPE, MetadataScanner, Reflector } from '@nestjs/core';
import { HOST } from '#extension';
import { ExtensionRefused, Extensions, type LoadedExtension } from '../../extensions';
import { accessMetadata, type AccessRule } from '../access-rule';
import { WebModule } from '../web.module';
import { type ExtensionRouteMetadata, routeMetadata } from './extension-handler';
import { isDecorated } from './host-parts';
import { claimController } from './controller-owners';

export interface ListedExtensionRoute extends ExtensionRouteMetadata {
  readonly method: string;
  readonly path: string;
  readonly access: AccessRule;
}

type ModuleImport = Type | DynamicModule | ForwardReference<() => Type>;

/** Providers with these tokens would apply to every route of the service. */
const GLOBAL_TOKENS: ReadonlySet<unknown> = new Set([APP_FILTER, APP_GUARD, APP_INTERCEPTOR, APP_PIPE]);

export const extensionModules = (extensions: Extensions): DynamicModule[] =>
  extensions.all.flatMap(({ id, adds: { module } }) => {
    if (module === undefined) return [];
    new ModuleWalk(id).connect(module as Type);
    return [{ module: module as Type }];
  });

const hostOf = (id: string): Provider => ({
  provide: HOST,
  inject: [Extensions],
  useFactory: ({ all }: Extensions) => all.find((extension) => extension.id === id)?.hostContext,
});

export function routesOf({ id, adds: { module } }: LoadedExtension): ListedExtensionRoute[] {
  return module === undefined ? [] : new ModuleWalk(id).routesOf(module as Type);
}

const extendMetadata = (name: string, module: object, added: unknown): void =>
  Reflect.defineMetadata(name, [...((Reflect.getMetadata(name, module) ?? []) as unknown[]), added], module);

class ModuleWalk {
  /** The host's own module does not belong to the extension. */
  private readonly seen = new Set<object>([WebModule]);
  private readonly reflector = new Reflector();

  constructor(private readonly id: string) {}

  routesOf(entry: ModuleImport): ListedExtensionRoute[] {
    const { module, imports, providers, controllers, isGlobal } = this.partsOf(entry);
    if (this.seen.has(module)) return [];
    this.seen.add(module);
    const { name } = module;
    this.requireOwn(module);
    if (isGlobal) this.refuse(`its module ${name} is global, and would reach every module of the service`);
    if (typeof (module.prototype as { configure?: unknown }).configure === 'function')
      this.refuse(`its module ${name} has configure(), whose middleware would reach every route`);
    for (const provider of providers) this.verifyProvider(provider);
    return [
      ...controllers.flatMap((controller) => this.routesIn(controller)),
      ...imports.flatMap((imported) => this.routesOf(imported)),
    ];
  }

  /**
   * Gives every module of the extension, including imported ones, pages and its host. Metadata of a class apply to all
   * services of the process.
   */
  connect(entry: ModuleImport): void {
    const { module, imports, providers } = this.partsOf(entry);
    if (this.seen.has(module)) return;
    this.seen.add(module);
    if (!providers.some((provider) => typeof provider !== 'function' && provider.provide === HOST)) {
      extendMetadata(MODULE_METADATA.PROVIDERS, module, hostOf(this.id));
      extendMetadata(MODULE_METADATA.IMPORTS, module, WebModule);
    }
    for (const imported of imports) this.connect(imported);
  }

  private partsOf(entry: unknown) {
    const resolved = (
      typeof entry === 'object' && entry !== null && 'forwardRef' in entry
        ? (entry as ForwardReference<() => unknown>).forwardRef()
        : entry
    ) as Type | DynamicModule | undefined;
    const dynamic: Partial<DynamicModule> = typeof resolved === 'object' ? resolved : {};
    const module = typeof resolved === 'function' ? resolved : dynamic.module;
    if (typeof module !== 'function') this.refuse('one of its modules imports what is no module');
    const declared = <Part>(name: string): Part[] => (Reflect.getMetadata(name, module) ?? []) as Part[];
    return {
      module,
      imports: [
        ...declared<ModuleImport>(MODULE_METADATA.IMPORTS),
        ...((dynamic.imports ?? []) as ModuleImport[]),
      ],
      providers: [...declared<Provider>(MODULE_METADATA.PROVIDERS), ...(dynamic.providers ?? [])],
      controllers: [...declared<Type>(MODULE_METADATA.CONTROLLERS), ...(dynamic.controllers ?? [])],
      isGlobal: dynamic.global === true || Reflect.hasMetadata(GLOBAL_MODULE_METADATA, module),
    };
  }

  private verifyProvider(provider: Provider): void {
    const token: unknown = typeof provider === 'function' ? provider : provider.provide;
    if (GLOBAL_TOKENS.has(token))
      this.refuse(`it provides ${String(token)}, which would work on every route`);
    for (const candidate of [provider, token, (provider as { useClass?: unknown }).useClass])
      if (typeof candidate === 'function' && Reflect.hasMetadata(INJECTABLE_WATERMARK, candidate))
        this.requireOwn(candidate);
  }

  private routesIn(controller: Type): ListedExtensionRoute[] {
    this.requireOwn(controller);
    claimController(controller, this.id);
    const prototype = controller.prototype as object;
    return new MetadataScanner()
      .getAllMethodNames(prototype)
      .flatMap((name) => this.routesAt(controller, name, Reflect.get(prototype, name) as () => unknown));
  }

  private routesAt(controller: Type, name: string, handler: () => unknown): ListedExtensionRoute[] {
    const paths = this.reflector.get<string | string[] | undefined>(PATH_METADATA, handler);
    if (paths === undefined) return [];
    const handlerName = `${controller.name}.${name}`;
    const route = this.reflector.get<ExtensionRouteMetadata | undefined>(routeMetadata, handler);
    if (route === undefined)
      this.refuse(
        `${handlerName} is none of Page, Data, Action, Csv and Redirects of @switchboard/extension/nest`,
      );
    const access = this.reflector.getAllAndOverride<AccessRule | undefined>(accessMetadata, [
      handler,
      controller,
    ]);
    if (access === undefined) this.refuse(`${handlerName} lacks @Access`);
    const [prefix = ''] = [
      this.reflector.get<string | string[] | undefined>(PATH_METADATA, controller),
    ].flat();
    const method = RequestMethod[this.reflector.get<RequestMethod>(METHOD_METADATA, handler)] ?? '';
    return [paths].flat().map((path) => {
      const fullPath = `/${`${prefix}/${path}`.split('/').filter(Boolean).join('/')}`;
      if (!isBelow(fullPath, `/x/${this.id}`) && !isBelow(fullPath, `/v1/x/${this.id}`))
        this.refuse(`${handlerName} is at ${fullPath}, and not below /x/${this.id} or /v1/x/${this.id}`);
      return { ...route, method, path: fullPath, access };
    });
  }

  /** All copies of Nest write the same metadata, but only classes decorated by the host's copy are accepted. */
  private requireOwn(target: object & { readonly name?: string }): void {
    if (!isDecorated(target))
      this.refuse(
        `${target.name} was decorated by another copy of Nest; decorators come from @switchboard/extension/nest`,
      );
  }

  private refuse(reason: string): never {
    throw new ExtensionRefused(this.id, reason);
  }
}

export const isBelow = (path: string, start: string): boolean =>
  path === start || path.startsWith(`${start}/`);
