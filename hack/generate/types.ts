// What a generator of documentation is.

/** Renders one file, or one section of a file that is otherwise written by hand. */
export interface Generator {
  /** Path from the project's root. */
  readonly path: string;
  /** Name in the marks `<!-- generated: NAME -->` … `<!-- /generated: NAME -->`; omitted: the whole file. */
  readonly section?: string;
  /** It puts right what a file shows where no marks can stand: what it renders is the file itself. */
  readonly rewrites?: true;
  /** @param before - text of the file as it is */
  render(before?: string): string | Promise<string>;
}
