import type { FormsContext } from './forms';

export const locales = ['en', 'de', 'fr', 'it', 'es'] as const;
export type Locale = (typeof locales)[number];
type Theme = 'system' | 'light' | 'dark';

interface NavigationItem {
  label: string;
  href: string;
  icon: string;
  current?: boolean;
}

export interface NavigationGroup {
  /** Absent for the first group, which has no heading. */
  label?: string;
  items: NavigationItem[];
}

interface Viewer {
  name: string;
  email: string;
  organisation?: string;
}

/** Coloured strip shown while an administrator views another account's pages. */
export interface AdminStrip {
  organisation: string;
  leaveAction: string;
  /** Organisations that the view can be narrowed to, if there is a choice. */
  organisations?: { value: string; label: string; selected: boolean }[];
}

export interface ViewContext {
  locale: Locale;
  timeZone: string;
  theme: Theme;
  hasShortcuts: boolean;
  /** The page's path and query, from which `url` builds links. */
  path: string;
  query: Readonly<Record<string, string>>;
  requestId: string;
  /** Secret of the session that marks elements for htmx, so that injected markup cannot trigger requests. */
  hostMark: string;
  brand?: { name: string; logo?: string; styleSheet?: string };
  baseUrl: string;
  /** True for an htmx swap: the view is rendered without its layouts. */
  fragment: boolean;
  /** Whether the browser sent a session cookie, valid or not. Public pages then link to the dashboard. */
  hasSession: boolean;
  viewer?: Viewer;
  navigation?: NavigationGroup[];
  adminStrip?: AdminStrip;
  /** Whether the page links to the administration. */
  mayAdminister?: boolean;
  helpHref?: string;
  /** Version of the terms that the user has to accept. */
  terms?: string;
  notices?: { tone: 'ok' | 'warn' | 'bad' | 'info'; text: string }[];
  /** Absent if the output has no forms, such as in emails. */
  forms?: FormsContext;
}

export function isLocale(value: unknown): value is Locale {
  return locales.some((locale) => locale === value);
}

export function defaultViewContext(overrides: Partial<ViewContext> = {}): ViewContext {
  return {
    locale: 'en',
    timeZone: 'UTC',
    theme: 'system',
    hasShortcuts: true,
    path: '/',
    query: {},
    requestId: '',
    hostMark: '',
    baseUrl: '',
    fragment: false,
    hasSession: false,
    ...overrides,
  };
}
