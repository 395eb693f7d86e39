import type { ExtensionViews } from './extension-views';
import type { Translate } from './translations';
import type { Locale, ViewContext } from './view-context';

export interface ViewEngineOptions {
  viewsFolder: string;
  publicFolder: string;
  localesFolder: string;
  /** False in development: templates and assets are reloaded when one of their files changes. */
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

/** Renders pages and emails. Serves as the injection token. */
export abstract class ViewEngine {
  /** Renders a view, given by its path below the views folder without the extension. Throws for an unknown view. */
  abstract render(view: string, model: object, context: ViewContext): string;
  /** Returns the translator of a locale; with an extension, its texts take precedence over the host's. */
  abstract translator(locale: Locale, extension?: string): Translate;
  /** Makes `response.render('pages/…', model)` work; the context is read from `response.locals.viewContext`. */
  abstract attach(application: ExpressApplication): void;
}
