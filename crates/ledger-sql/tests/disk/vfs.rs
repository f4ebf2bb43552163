//! The simulated disk as SQLite's file layer. This is the only code with `unsafe`: SQLite calls it
//! through C pointers.
#![expect(unsafe_code, reason = "SQLite's file layer is a C interface")]

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::sync::{Mutex, MutexGuard, PoisonError, atomic};

use libsqlite3_sys as sqlite;

use super::{Disk, Refused};

/// A disk registered with SQLite under a name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SharedDisk {
    pub(crate) name: &'static str,
    disk: &'static Mutex<Disk>,
}

impl SharedDisk {
    /// Registers a new disk. Disk and name live as long as the process, as SQLite requires.
    pub(crate) fn register(name: &'static str) -> Self {
        let disk: &'static Mutex<Disk> = Box::leak(Box::default());
        let name_for_c = CString::new(name).expect("a name without zero bytes").into_raw();
        // SAFETY: the default file layer always exists and is never unregistered; it is only
        // copied. The objects that SQLite points to (the layer, its name, the disk) are leaked
        // above and here.
        unsafe {
            let system = sqlite::sqlite3_vfs_find(std::ptr::null());
            let layer = Box::leak(Box::new(*system));
            layer.szOsFile = size_of::<Handle>() as c_int;
            layer.zName = name_for_c;
            layer.pNext = std::ptr::null_mut();
            layer.pAppData = std::ptr::from_ref(disk).cast_mut().cast();
            layer.xOpen = Some(open);
            layer.xDelete = Some(delete);
            layer.xAccess = Some(access);
            assert_eq!(sqlite::sqlite3_vfs_register(layer, 0), sqlite::SQLITE_OK);
        }
        Self { name, disk }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'static, Disk> {
        self.disk.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An open file. SQLite allocates it, sees only the first field, and hands it back to every call.
#[repr(C)]
struct Handle {
    base: sqlite::sqlite3_file,
    disk: &'static Mutex<Disk>,
    /// Made by `Box::into_raw`, freed on close.
    name: *mut String,
    id: u64,
}

static METHODS: sqlite::sqlite3_io_methods = sqlite::sqlite3_io_methods {
    iVersion: 2,
    xClose: Some(close),
    xRead: Some(read),
    xWrite: Some(write),
    xTruncate: Some(truncate),
    xSync: Some(sync),
    xFileSize: Some(file_size),
    xLock: Some(lock),
    xUnlock: Some(unlock),
    xCheckReservedLock: Some(check_reserved_lock),
    xFileControl: Some(file_control),
    xSectorSize: Some(sector_size),
    xDeviceCharacteristics: Some(characteristics),
    xShmMap: Some(shm_map),
    xShmLock: Some(shm_lock),
    xShmBarrier: Some(shm_barrier),
    xShmUnmap: Some(shm_unmap),
    xFetch: None,
    xUnfetch: None,
};

/// Returns the disk of a layer.
///
/// # Safety
/// `layer` must come from [`SharedDisk::register`].
unsafe fn disk_of(layer: *mut sqlite::sqlite3_vfs) -> &'static Mutex<Disk> {
    // SAFETY: `pAppData` was made from a leaked reference of this type.
    unsafe { &*(*layer).pAppData.cast::<Mutex<Disk>>() }
}

/// Returns the disk, the file's name and the handle's number.
///
/// # Safety
/// `file` must have been filled by [`open`] and not be closed. SQLite does not close a file during
/// a call on it.
unsafe fn parts<'a>(file: *mut sqlite::sqlite3_file) -> (MutexGuard<'static, Disk>, &'a str, u64) {
    // SAFETY: by the condition above it is a `Handle` whose name is still allocated.
    let (handle, name) = unsafe {
        let handle = &*file.cast::<Handle>();
        (handle, (*handle.name).as_str())
    };
    (handle.disk.lock().unwrap_or_else(PoisonError::into_inner), name, handle.id)
}

fn code(result: Result<(), Refused>, broken: c_int) -> c_int {
    match result {
        Ok(()) => sqlite::SQLITE_OK,
        Err(Refused::Full) => sqlite::SQLITE_FULL,
        Err(Refused::Broken) => broken,
    }
}

fn granted(free: bool) -> c_int {
    if free { sqlite::SQLITE_OK } else { sqlite::SQLITE_BUSY }
}

unsafe extern "C" fn open(
    layer: *mut sqlite::sqlite3_vfs,
    name: *const c_char,
    file: *mut sqlite::sqlite3_file,
    flags: c_int,
    out_flags: *mut c_int,
) -> c_int {
    // SAFETY: SQLite gives `szOsFile` writable bytes at `file`, a C string or null as name, and an
    // int or null.
    unsafe {
        let handle = file.cast::<Handle>();
        (*handle).base.pMethods = std::ptr::null();
        let disk = disk_of(layer);
        let name = if name.is_null() {
            format!("temporary-{file:p}")
        } else {
            CStr::from_ptr(name).to_string_lossy().into_owned()
        };
        let create = flags & sqlite::SQLITE_OPEN_CREATE != 0;
        let Some(id) = disk.lock().unwrap_or_else(PoisonError::into_inner).open_file(&name, create) else {
            return sqlite::SQLITE_CANTOPEN;
        };
        let name = Box::into_raw(Box::new(name));
        handle.write(Handle { base: sqlite::sqlite3_file { pMethods: &raw const METHODS }, disk, name, id });
        if !out_flags.is_null() {
            *out_flags = flags;
        }
    }
    sqlite::SQLITE_OK
}

unsafe extern "C" fn close(file: *mut sqlite::sqlite3_file) -> c_int {
    // SAFETY: an open file (see `parts`); its name was made by `Box::into_raw` and is freed here,
    // once.
    unsafe {
        let (mut disk, name, id) = parts(file);
        disk.close_file(name, id);
        drop(disk);
        drop(Box::from_raw((*file.cast::<Handle>()).name));
    }
    sqlite::SQLITE_OK
}

unsafe extern "C" fn read(file: *mut sqlite::sqlite3_file, to: *mut c_void, length: c_int, at: i64) -> c_int {
    // SAFETY: an open file, and a buffer of `length` bytes that only this call uses.
    let (mut disk, name, buffer) = unsafe {
        let (disk, name, _) = parts(file);
        (disk, name, std::slice::from_raw_parts_mut(to.cast::<u8>(), length as usize))
    };
    match disk.read(name, at as usize, buffer) {
        Ok(true) => sqlite::SQLITE_OK,
        Ok(false) => sqlite::SQLITE_IOERR_SHORT_READ,
        Err(_) => sqlite::SQLITE_IOERR_READ,
    }
}

unsafe extern "C" fn write(file: *mut sqlite::sqlite3_file, from: *const c_void, length: c_int, at: i64) -> c_int {
    // SAFETY: an open file, and `length` readable bytes.
    let (mut disk, name, bytes) = unsafe {
        let (disk, name, _) = parts(file);
        (disk, name, std::slice::from_raw_parts(from.cast::<u8>(), length as usize))
    };
    code(disk.write(name, at as usize, bytes), sqlite::SQLITE_IOERR_WRITE)
}

unsafe extern "C" fn truncate(file: *mut sqlite::sqlite3_file, length: i64) -> c_int {
    // SAFETY: an open file.
    let (mut disk, name, _) = unsafe { parts(file) };
    code(disk.cut(name, length as usize), sqlite::SQLITE_IOERR_TRUNCATE)
}

unsafe extern "C" fn sync(file: *mut sqlite::sqlite3_file, _flags: c_int) -> c_int {
    // SAFETY: an open file.
    let (mut disk, name, _) = unsafe { parts(file) };
    code(disk.sync(name), sqlite::SQLITE_IOERR_FSYNC)
}

unsafe extern "C" fn file_size(file: *mut sqlite::sqlite3_file, size: *mut i64) -> c_int {
    // SAFETY: an open file and a valid pointer for the result.
    unsafe {
        let (mut disk, name, _) = parts(file);
        *size = disk.file(name).content.len() as i64;
    }
    sqlite::SQLITE_OK
}

unsafe extern "C" fn lock(file: *mut sqlite::sqlite3_file, level: c_int) -> c_int {
    // SAFETY: an open file.
    let (mut disk, name, id) = unsafe { parts(file) };
    granted(disk.lock(name, id, level))
}

unsafe extern "C" fn unlock(file: *mut sqlite::sqlite3_file, level: c_int) -> c_int {
    // SAFETY: an open file.
    let (mut disk, name, id) = unsafe { parts(file) };
    disk.unlock(name, id, level);
    sqlite::SQLITE_OK
}

unsafe extern "C" fn check_reserved_lock(file: *mut sqlite::sqlite3_file, reserved: *mut c_int) -> c_int {
    // SAFETY: an open file and a valid pointer for the result.
    unsafe {
        let (mut disk, name, _) = parts(file);
        *reserved = c_int::from(disk.is_reserved(name));
    }
    sqlite::SQLITE_OK
}

unsafe extern "C" fn file_control(
    _file: *mut sqlite::sqlite3_file,
    _operation: c_int,
    _argument: *mut c_void,
) -> c_int {
    sqlite::SQLITE_NOTFOUND
}

unsafe extern "C" fn sector_size(_file: *mut sqlite::sqlite3_file) -> c_int {
    super::SECTOR as c_int
}

/// Returns the same flag as the system's own layer: a torn write damages no adjacent bytes.
unsafe extern "C" fn characteristics(_file: *mut sqlite::sqlite3_file) -> c_int {
    sqlite::SQLITE_IOCAP_POWERSAFE_OVERWRITE
}

unsafe extern "C" fn shm_map(
    file: *mut sqlite::sqlite3_file,
    region: c_int,
    size: c_int,
    extend: c_int,
    to: *mut *mut c_void,
) -> c_int {
    // SAFETY: an open file and a valid pointer for the result. The region is boxed and dropped only
    // when no connection is left.
    unsafe {
        let (mut disk, name, _) = parts(file);
        *to = disk.region(name, region as usize, size as usize, extend != 0).cast();
    }
    sqlite::SQLITE_OK
}

unsafe extern "C" fn shm_lock(file: *mut sqlite::sqlite3_file, first: c_int, count: c_int, flags: c_int) -> c_int {
    // SAFETY: an open file.
    let (mut disk, name, id) = unsafe { parts(file) };
    let slots = first as usize..(first + count) as usize;
    let exclusive = flags & sqlite::SQLITE_SHM_EXCLUSIVE != 0;
    if flags & sqlite::SQLITE_SHM_LOCK != 0 {
        return granted(disk.lock_slots(name, id, slots, exclusive));
    }
    disk.unlock_slots(name, id, slots, exclusive);
    sqlite::SQLITE_OK
}

unsafe extern "C" fn shm_barrier(_file: *mut sqlite::sqlite3_file) {
    atomic::fence(atomic::Ordering::SeqCst);
}

unsafe extern "C" fn shm_unmap(file: *mut sqlite::sqlite3_file, delete: c_int) -> c_int {
    // SAFETY: an open file. SQLite requests deletion only from the last connection, which no longer
    // uses the regions.
    let (mut disk, name, _) = unsafe { parts(file) };
    if delete != 0 {
        disk.drop_regions(name);
    }
    sqlite::SQLITE_OK
}

unsafe extern "C" fn delete(layer: *mut sqlite::sqlite3_vfs, name: *const c_char, sync_folder: c_int) -> c_int {
    // SAFETY: our layer and a C string.
    let (disk, name) = unsafe { (disk_of(layer), CStr::from_ptr(name).to_string_lossy()) };
    match disk.lock().unwrap_or_else(PoisonError::into_inner).remove(&name, sync_folder != 0) {
        Ok(true) => sqlite::SQLITE_OK,
        Ok(false) => sqlite::SQLITE_IOERR_DELETE_NOENT,
        Err(_) => sqlite::SQLITE_IOERR_DELETE,
    }
}

unsafe extern "C" fn access(
    layer: *mut sqlite::sqlite3_vfs,
    name: *const c_char,
    flags: c_int,
    there: *mut c_int,
) -> c_int {
    // SAFETY: our layer, a C string and a valid pointer for the result.
    unsafe {
        let name = CStr::from_ptr(name).to_string_lossy();
        let disk = disk_of(layer).lock().unwrap_or_else(PoisonError::into_inner);
        // Like the system's own layer: an empty file does not count as an existing journal.
        let found = disk.files.get(&*name).filter(|file| file.present);
        let exists = found.is_some_and(|file| flags != sqlite::SQLITE_ACCESS_EXISTS || !file.content.is_empty());
        *there = c_int::from(exists);
    }
    sqlite::SQLITE_OK
}
