import type { ExtensionViews } from './extension-views';
import type { Translate } from './translations';
import type { Locale, ViewContext } from './view-context';

export interface ViewEngineOptions {
  viewsFolder: string;
  publicFolder: string;
  localesFolder: string;
  /** It is false in development: templates and assets are read anew when one of their files has changed. */
  cache: boolean;
  brandName: string;
  extensions?: readonly ExtensionViews[];
}

export interface ExpressApplication {
  engine(extension: string, render: ExpressRender): unknown;
  set(name: string, value: unknown): unknown;
}

export type ExpressRender = (
  path: string,
  options: object,
  done: (error: unknown, html?: string) => void,
) => void;

/** Renders pages and mails; the class is what Nest injects it by. */
export abstract class ViewEngine {
  /** `view` is a path below the views folder without its ending. Synchronous; throws for an unknown view. */
  abstract render(view: string, model: object, context: ViewContext): string;
  /** The texts of an extension come before the host's. */
  abstract translator(locale: Locale, extension?: string): Translate;
  /** Makes `response.render('pages/…', model)` work; the context is read from `response.locals.viewContext`. */
  abstract attach(application: ExpressApplication): void;
}
