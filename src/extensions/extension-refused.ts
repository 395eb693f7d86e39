/** Thrown when an extension prevents the start. */
export class ExtensionRefused extends Error {
  constructor(extension: string, reason: string, options?: ErrorOptions) {
    super(`The extension ${extension} cannot be used: ${reason}`, options);
    this.name = 'ExtensionRefused';
  }
}
