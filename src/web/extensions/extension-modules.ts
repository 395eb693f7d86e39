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
import { type ExtensionRoute, routeMetadata } from './extension-handler';
import { isDecorated } from './lent-parts';
import { claim } from './owners';

/** A route of an extension, as its page in the administration names it. */
export interface OwnRoute extends ExtensionRoute {
  readonly method: string;
  readonly path: string;
  readonly access: AccessRule;
}

type Imported = Type | DynamicModule | ForwardReference<() => Type>;

/** Providers with these names would work on every route of the service. */
const everywhere: ReadonlySet<unknown> = new Set([APP_FILTER, APP_GUARD, APP_INTERCEPTOR, APP_PIPE]);

/** The modules of extensions, each beside what its pages are made with and its own host. */
export const extensionModules = (extensions: Extensions): DynamicModule[] =>
  extensions.all.flatMap(({ id, adds: { module } }) => {
    if (module === undefined) return [];
    new ModuleWalk(id).connect(module as Type);
    return [{ module: module as Type }];
  });

/** The host of an extension, whichever service of this process it runs in. */
const hostOf = (id: string): Provider => ({
  provide: HOST,
  inject: [Extensions],
  useFactory: ({ all }: Extensions) => all.find((extension) => extension.id === id)?.given,
});

/** The routes of an extension. A module that reaches beyond its extension refuses the start. */
export function routesOf({ id, adds: { module } }: LoadedExtension): OwnRoute[] {
  return module === undefined ? [] : new ModuleWalk(id).routesOf(module as Type);
}

const extendMetadata = (name: string, module: object, added: unknown): void =>
  Reflect.defineMetadata(name, [...((Reflect.getMetadata(name, module) ?? []) as unknown[]), added], module);

class ModuleWalk {
  /** The host's own module is none of the extension. */
  private readonly seen = new Set<object>([WebModule]);
  private readonly reflector = new Reflector();

  constructor(private readonly id: string) {}

  routesOf(entry: Imported): OwnRoute[] {
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
   * Every module of the extension can have pages and inject its host, those that its first one imports as well. Metadata
   * of a class serve all services of this process.
   */
  connect(entry: Imported): void {
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
    const given = (
      typeof entry === 'object' && entry !== null && 'forwardRef' in entry
        ? (entry as ForwardReference<() => unknown>).forwardRef()
        : entry
    ) as Type | DynamicModule | undefined;
    const dynamic: Partial<DynamicModule> = typeof given === 'object' ? given : {};
    const module = typeof given === 'function' ? given : dynamic.module;
    if (typeof module !== 'function') this.refuse('one of its modules imports what is no module');
    const declared = <Part>(name: string): Part[] => (Reflect.getMetadata(name, module) ?? []) as Part[];
    return {
      module,
      imports: [...declared<Imported>(MODULE_METADATA.IMPORTS), ...((dynamic.imports ?? []) as Imported[])],
      providers: [...declared<Provider>(MODULE_METADATA.PROVIDERS), ...(dynamic.providers ?? [])],
      controllers: [...declared<Type>(MODULE_METADATA.CONTROLLERS), ...(dynamic.controllers ?? [])],
      isGlobal: dynamic.global === true || Reflect.hasMetadata(GLOBAL_MODULE_METADATA, module),
    };
  }

  private verifyProvider(provider: Provider): void {
    const token: unknown = typeof provider === 'function' ? provider : provider.provide;
    if (everywhere.has(token)) this.refuse(`it provides ${String(token)}, which would work on every route`);
    for (const made of [provider, token, (provider as { useClass?: unknown }).useClass])
      if (typeof made === 'function' && Reflect.hasMetadata(INJECTABLE_WATERMARK, made))
        this.requireOwn(made);
  }

  private routesIn(controller: Type): OwnRoute[] {
    this.requireOwn(controller);
    claim(controller, this.id);
    const prototype = controller.prototype as object;
    return new MetadataScanner()
      .getAllMethodNames(prototype)
      .flatMap((name) => this.routesAt(controller, name, Reflect.get(prototype, name) as () => unknown));
  }

  private routesAt(controller: Type, name: string, handler: () => unknown): OwnRoute[] {
    const paths = this.reflector.get<string | string[] | undefined>(PATH_METADATA, handler);
    if (paths === undefined) return [];
    const handlerName = `${controller.name}.${name}`;
    const route = this.reflector.get<ExtensionRoute | undefined>(routeMetadata, handler);
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
      const whole = `/${`${prefix}/${path}`.split('/').filter(Boolean).join('/')}`;
      if (!isBelow(whole, `/x/${this.id}`) && !isBelow(whole, `/v1/x/${this.id}`))
        this.refuse(`${handlerName} is at ${whole}, and not below /x/${this.id} or /v1/x/${this.id}`);
      return { ...route, method, path: whole, access };
    });
  }

  /** All copies of Nest write the same metadata, but classes of another copy are not the host's. */
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
